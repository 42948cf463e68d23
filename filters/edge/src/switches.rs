//! Switches for tests; compiled only with the feature `test-switches`, never into the module that is shipped.

use crate::pairs::Pair;

/// A request with this header takes down the worker's VM.
const TRAP: &[u8] = b"x-test-trap";

pub(crate) fn obey(headers: &[Pair<'_>]) {
    if headers.iter().any(|(name, _)| *name == TRAP) {
        #[allow(clippy::panic, reason = "the test asks for a trap")]
        {
            panic!("a test asked for a trap");
        }
    }
}
