//! JSON pointers (RFC 6901).

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

/// Checks a pointer to a part of a body, 1 to 256 bytes; the whole body has other words.
pub(super) fn json_pointer(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let escapes = text
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']));
    if !text.starts_with('/') || text.len() > 256 || !escapes {
        let text = shown(text);
        faults.add(
            at,
            format!("`{text}` is not a JSON pointer; write it like `/data/id` (`~1` for `/` in a name, `~0` for `~`)"),
        );
    }
}
