//! Names that an author chooses.

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

/// The longest value of an identity, in bytes.
const MOST_VALUE_BYTES: usize = 1024;

/// Checks the name of a policy, limit or route.
pub(super) fn name(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let good = text.len() <= 64
        && text.bytes().next().is_some_and(letter)
        && text.bytes().all(|byte| letter(byte) || byte == b'-');
    if !good {
        let text = shown(text);
        faults.add(
            at,
            format!(
                "`{text}` is not a name; write 1 to 64 of `a-z`, `0-9` and `-`, a letter or digit first"
            ),
        );
    }
    good
}

/// Checks a version.
pub(super) fn version(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !(1..=64).contains(&text.len()) || !text.bytes().all(letter) {
        let text = shown(text);
        faults.add(
            at,
            format!(
                "`{text}` is not a version; write 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`"
            ),
        );
    }
}

/// Checks the value of a tenant, account or plan: one that an identity can have.
pub(super) fn value(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) -> bool {
    let good = text.len() <= MOST_VALUE_BYTES
        && !text.trim().is_empty()
        && !text.chars().any(char::is_control);
    if !good {
        faults.add(
            at,
            format!("no caller can have this name; write 1 to {MOST_VALUE_BYTES} bytes, not blank, without control characters"),
        );
    }
    good
}

/// Checks text that a request is compared with or looked up by: `least` to `most` visible bytes.
pub(super) fn visible(
    text: &str,
    most: usize,
    what: &str,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> bool {
    let good = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !good {
        let text = shown(text);
        faults.add(
            at,
            format!("`{text}` is not {what}; write 1 to {most} visible characters of ASCII"),
        );
    }
    good
}
