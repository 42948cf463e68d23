//! The marker in the path: put behind the query by the gate, taken out again by `origin`.
//!
//! # Invariant
//! *Restoring undoes marking*: for every path, byte for byte.

use super::Marker;
use crate::identity::decode_percent;
use crate::reserved::PARAMETER;
use crate::route;

/// The length of `__tidegate=MARKER`, without what divides it from the path.
const ADDITION: usize = PARAMETER
    .len()
    .saturating_add(1)
    .saturating_add(Marker::LEN);

/// The path with the marker behind it, as one more parameter of its query.
pub fn mark(path: &[u8], marker: &Marker) -> Vec<u8> {
    let divider = if path.contains(&b'?') { b'&' } else { b'?' };
    let length = path.len().saturating_add(ADDITION.saturating_add(1));
    let mut marked = Vec::with_capacity(length);
    marked.extend_from_slice(path);
    marked.push(divider);
    marked.extend_from_slice(PARAMETER);
    marked.push(b'=');
    marked.extend_from_slice(marker.as_bytes());
    marked
}

/// A text in which a marked path may stand, without its last mark; `None` if there is none. What Envoy's route put
/// behind the mark stays.
pub fn restore(text: &[u8]) -> Option<Vec<u8>> {
    let start = text.windows(ADDITION).rposition(is_addition)?;
    let end = start.checked_add(ADDITION)?;
    let before = start.checked_sub(1)?;
    let (head, divider) = (text.get(..before)?, text.get(before)?);
    let tail = text.get(end..)?;
    let mut restored = head.to_vec();
    match (divider, tail.split_first()) {
        (b'&', _) => restored.extend_from_slice(tail),
        // The parameter that stood first is gone; the next one is first now.
        (b'?', Some((b'&', rest))) => {
            restored.push(b'?');
            restored.extend_from_slice(rest);
        }
        (b'?', _) => restored.extend_from_slice(tail),
        _ => return None,
    }
    Some(restored)
}

/// Whether an origin can hardly read a path as another one than the policy did: no empty or dot segments in whatever
/// disguise, no encoded slashes, backslashes, semicolons or controls, nothing encoded twice or not as UTF-8. What stands
/// in `/shared/..;/mine` may be somebody's own.
pub fn is_plain(path: &[u8]) -> bool {
    let dots = |segment: &[u8]| {
        let rest = segment
            .strip_prefix(b"..")
            .or_else(|| segment.strip_prefix(b"."));
        let odd = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"-_.~".contains(byte);
        rest.and_then(<[u8]>::first).is_some_and(odd)
    };
    // Hex digits are written in either case.
    route::canonical(path).eq_ignore_ascii_case(path)
        && !path.contains(&b'\\')
        && encoded(path)
            .all(|byte| byte.is_some_and(|byte| !b"/\\;%\x7f".contains(&byte) && byte >= b' '))
        && core::str::from_utf8(&decoded(path)).is_ok()
        && !path.split(|byte| *byte == b'/').any(dots)
}

/// Each byte that a path has in percent-encoding; `None` for a percent sign without two hex digits.
fn encoded(path: &[u8]) -> impl Iterator<Item = Option<u8>> {
    path.split(|byte| *byte == b'%').skip(1).map(|rest| {
        let (digits, _) = rest.split_first_chunk::<2>()?;
        u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
    })
}

/// A path without percent-encoding.
fn decoded(path: &[u8]) -> Vec<u8> {
    decode_percent(path, false).unwrap_or_default().into_owned()
}

fn is_addition(window: &[u8]) -> bool {
    window
        .strip_prefix(PARAMETER)
        .and_then(|rest| rest.strip_prefix(b"="))
        .is_some_and(|rest| Marker::read(rest).is_some())
}
