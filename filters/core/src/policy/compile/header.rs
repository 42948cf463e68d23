//! Header names.

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::reserved::{self, HEADER_PREFIX};

/// The longest header name, in bytes.
const MOST_BYTES: usize = 256;

/// A header's name in lower case.
pub(super) fn header(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let shown = shown(text);
    let message = if text.starts_with(':') {
        format!(
            "`{shown}` is a pseudo-header; name a header that the client sends, or use `method`, `path` or `host`"
        )
    } else if !token(text) || text.len() > MOST_BYTES {
        format!("`{shown}` is not a header's name; write it like `x-tenant-id`")
    } else if reserved::is_header(text.as_bytes()) {
        format!("`{shown}` is reserved; write a name that does not begin with `{HEADER_PREFIX}`")
    } else {
        return Some(lower);
    };
    faults.add(at, message);
    None
}

/// The name, in lower case, of a header that may tell callers apart.
pub(super) fn telling(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<String> {
    let name = header(text, at, faults)?;
    let message = match name.as_str() {
        "x-forwarded-for" => {
            format!("`{name}` holds what any client wrote; use the dimension `address`")
        }
        "host" => format!("`{name}` is no identity; use the dimension `host`"),
        "content-length" | "transfer-encoding" | "connection" => {
            format!(
                "`{name}` belongs to the protocol and tells no callers apart; name another header"
            )
        }
        _ => return Some(name),
    };
    faults.add(at, message);
    None
}

/// Whether text is a token of RFC 9110, section 5.6.2.
pub(super) fn token(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}
