//! Switches for tests; compiled only with the feature `test-switches`, never into the module that is shipped.

use tidegate_core::cache::Marker;

use crate::pairs::Pair;

/// A request with this header takes down the worker's VM.
const TRAP: &[u8] = b"x-test-trap";

/// A request with this header has every caller's marker in its path be the same, as a bug of ours might.
const SAME_MARKER: &[u8] = b"x-test-same-marker";

/// The path that goes on in place of `path`.
pub(crate) fn path(path: &[u8], headers: &[Pair<'_>]) -> Vec<u8> {
    if !headers.iter().any(|(name, _)| *name == SAME_MARKER) {
        return path.to_vec();
    }
    let kept = path.len().saturating_sub(Marker::LEN);
    let mut same = path.get(..kept).unwrap_or_default().to_vec();
    same.extend_from_slice(Marker::from_bytes([0; 32]).as_bytes());
    same
}

pub(crate) fn obey(headers: &[Pair<'_>]) {
    if headers.iter().any(|(name, _)| *name == TRAP) {
        #[allow(clippy::panic, reason = "the test asks for a trap")]
        {
            panic!("a test asked for a trap");
        }
    }
}
