//! The marker in the path: put behind the query by the gate, taken out again by `origin`.
//!
//! # Invariant
//! *Restoring undoes marking*: for every path, byte for byte.

use super::Marker;
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

/// Whether an origin can hardly read a path as another one than the policy did: no empty or dot segments, no encoded
/// dots, slashes or backslashes, no parameters behind dots. What stands in `/shared/..;/mine` may be somebody's own.
pub fn is_plain(path: &[u8]) -> bool {
    let encoded = |pair: &[u8]| {
        pair.eq_ignore_ascii_case(b"%2f")
            || pair.eq_ignore_ascii_case(b"%5c")
            || pair.starts_with(b"%0")
            || pair.starts_with(b"%1")
            || pair.eq_ignore_ascii_case(b"%25")
    };
    let dots = |segment: &[u8]| segment.starts_with(b".;") || segment.starts_with(b"..;");
    // Hex digits are written in either case.
    route::canonical(path).eq_ignore_ascii_case(path)
        && !path.contains(&b'\\')
        && !path.windows(3).any(encoded)
        && !path.split(|byte| *byte == b'/').any(dots)
}

fn is_addition(window: &[u8]) -> bool {
    window
        .strip_prefix(PARAMETER)
        .and_then(|rest| rest.strip_prefix(b"="))
        .is_some_and(|rest| Marker::read(rest).is_some())
}
