//! Tables whose keys are digests already, and need not be digested again.

use std::hash::{BuildHasherDefault, Hasher};

/// For tables by digests.
pub(crate) type Digested = BuildHasherDefault<AsItIs>;

/// Takes a digest as it is.
#[derive(Debug, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, digest: u64) {
        // A sample keeps digests that end in zero bits, and tables look at the last ones first.
        self.0 = digest.rotate_right(20);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
