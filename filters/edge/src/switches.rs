//! Switches for tests; compiled only with the feature `test-switches`, never into the module that is shipped.

use tidegate_core::cache::Marker;
use tidegate_core::cases;
use tidegate_core::policy::Policy;
use tidegate_core::store::StoreError;

use crate::host;
use crate::pairs::Pair;
use crate::store::SharedStore;

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

/// A request with this header runs what every store has to do on the one that the workers share.
const STORE_SUITE: &[u8] = b"x-test-store-suite";

/// What came of the suite, if it was asked for.
pub(crate) fn suite(policy: &Policy, headers: &[Pair<'_>]) -> Option<Result<(), String>> {
    headers.iter().find(|(name, _)| *name == STORE_SUITE)?;
    // Nobody has written to a store whose policy has a name of its own.
    let mut policy = policy.clone();
    let name: [u8; 8] = host::random().ok()?;
    let mut number = u64::from_le_bytes(name);
    let make = || {
        number = number.wrapping_add(1);
        policy.name = format!("suite-{number}");
        SharedStore::open(&policy)
    };
    Some(suite_of(make))
}

fn suite_of(mut make: impl FnMut() -> Result<SharedStore, StoreError>) -> Result<(), String> {
    // It opened once for the policy itself, and opens the same way for another name.
    make().map_err(|error| format!("{error:?}"))?;
    #[allow(clippy::panic, reason = "a test that cannot go on fails")]
    cases::store_suite::suite(|| make().unwrap_or_else(|error| panic!("{error:?}")))
}
