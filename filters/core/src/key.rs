//! Keys: what tells two buckets apart.
//!
//! # Invariants
//! - *No two callers meet*: a key is made from parts that each carry their tag and their length, so that
//!   `("a", "bc")` and `("ab", "c")` differ, and so do a part that is absent and one that is empty.
//! - *Nobody chooses a key*: it is a digest under a secret that the store made for itself, so a caller
//!   cannot pick a name that falls on another caller's place in a table.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};
#[cfg(feature = "cases")]
use twox_hash::XxHash3_128;

/// The secret of a store, under which its keys are digested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(Digest);

/// How a store digests its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digest {
    /// SipHash-2-4-128 under this key.
    Keyed([u8; 16]),
    /// XXH3-128.
    #[cfg(feature = "cases")]
    Plain,
}

impl Secret {
    /// A secret of 16 random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(Digest::Keyed(bytes))
    }

    /// No secret, and digests that take a tenth of the time: for tools that play millions of requests in a store of
    /// their own, whose keys nobody can choose against and nobody keeps.
    #[cfg(feature = "cases")]
    pub const fn none() -> Self {
        Self(Digest::Plain)
    }

    /// The key for what `parts` holds.
    pub fn key(&self, parts: &Parts) -> Key {
        match &self.0 {
            Digest::Keyed(secret) => {
                let mut hasher = SipHasher24::new_with_key(secret);
                hasher.write(&parts.bytes);
                let digest = hasher.finish128();
                Key([digest.h1, digest.h2])
            }
            #[cfg(feature = "cases")]
            Digest::Plain => Key::from_bytes(XxHash3_128::oneshot(&parts.bytes).to_le_bytes()),
        }
    }
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A digest of [`Parts`] under the store's [`Secret`]: in the module a SipHash-2-4-128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u64; 2]);

impl Key {
    /// How many bytes a key has.
    pub const LEN: usize = 16;

    /// No key's; what a combination begins with.
    pub const ZERO: Self = Self([0; 2]);

    /// The bytes as a table keeps them.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let [low, high] = self.0;
        ((low as u128) | ((high as u128) << 64)).to_le_bytes()
    }

    /// The key that a table keeps as these bytes.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self([both as u64, (both >> 64) as u64])
    }

    /// This key and another and a number, as one key. Not a digest: it is for keys that nobody can choose.
    #[must_use]
    pub const fn and(self, other: Self, number: u64) -> Self {
        /// Odd, so that multiplying loses nothing; the bits are those of the golden ratio.
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let ([one, two], [first, second]) = (self.0, other.0);
        let one = (one ^ number).wrapping_mul(ODD).rotate_left(29) ^ first;
        let two = (two ^ number).wrapping_mul(ODD).rotate_left(31) ^ second;
        Self([one, two])
    }

    /// Where the key belongs among `places`: 0 to `places` - 1 (0 if there are none).
    pub const fn place(self, places: u32) -> u32 {
        let [hash, _] = self.0;
        // The upper half of the product of two 32-bit numbers.
        ((hash >> 32).wrapping_mul(places as u64) >> 32) as u32
    }
}

/// What a key is made from: a list of parts, each with its tag and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    bytes: Vec<u8>,
}

impl Parts {
    /// No parts yet.
    pub fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(128),
        }
    }

    /// Forgets the parts and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds a part.
    pub fn push(&mut self, tag: u8, value: &[u8]) {
        let mut head = [tag; 9];
        let [_, len @ ..] = &mut head;
        *len = u64::try_from(value.len()).unwrap_or(u64::MAX).to_le_bytes();
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(value);
    }

    /// Adds another key as a part.
    pub fn push_key(&mut self, tag: u8, key: Key) {
        self.push(tag, &key.to_bytes());
    }

    /// The parts in their one encoding: equal exactly when the lists of parts are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
