//! Switches for tests; compiled only with the feature `test-switches`, never into the module that is shipped.

use tidegate_core::cache::Marker;

use crate::host;
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
    set_ahead(headers);
    if headers.iter().any(|(name, _)| *name == TRAP) {
        #[allow(clippy::panic, reason = "the test asks for a trap")]
        {
            panic!("a test asked for a trap");
        }
    }
}

/// Sets every clock of the process ahead, by so many milliseconds.
const AHEAD: &[u8] = b"x-test-ahead-ms";

const AHEAD_NAME: &[u8] = b"tidegate/test/ahead";

/// How far clocks are ahead, in nanoseconds.
pub(crate) fn ahead() -> u64 {
    let shared = host::shared(AHEAD_NAME).ok().flatten();
    let bytes = shared.and_then(|(bytes, _)| <[u8; 8]>::try_from(bytes).ok());
    bytes.map_or(0, u64::from_le_bytes)
}

fn set_ahead(headers: &[Pair<'_>]) {
    let Some((_, value)) = headers.iter().find(|(name, _)| *name == AHEAD) else {
        return;
    };
    let millis: u64 = str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let nanos = millis.saturating_mul(1_000_000).to_le_bytes();
    let known = host::shared(AHEAD_NAME).ok().flatten();
    let cas = known.map_or(u32::MAX, |(_, cas)| cas);
    let _ = host::swap_shared(AHEAD_NAME, &nanos, cas);
}
