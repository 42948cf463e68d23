//! What stands in front of a problem's name.

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

/// Checks that a name may be written right behind `text` to give an address.
pub(super) fn check(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let begins = ["https://", "http://", "urn:"].iter().any(|scheme| {
        text.strip_prefix(scheme)
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', ':']))
    });
    let good = begins
        && text.ends_with(['/', ':'])
        && text.len() <= 256
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\`".contains(&byte));
    if !good {
        let text = shown(text);
        faults.add(
            at,
            format!("`{text}` is not the beginning of a problem's address; write an `https://`, `http://` or `urn:` address of at most 256 visible characters that ends in `/` or `:`"),
        );
    }
}
