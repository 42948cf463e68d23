//! Keys: what tells two buckets apart.
//!
//! # Invariants
//! - *No two callers meet*: a key is made from parts that each carry their tag and their length, so that
//!   `("a", "bc")` and `("ab", "c")` differ, and so do a part that is absent and one that is empty.
//! - *Nobody chooses a key*: it is a digest under a secret that the store made for itself, so a caller
//!   cannot pick a name that falls on another caller's place in a table.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

/// The secret of a store, under which its keys are digested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// A secret of 16 random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The key for what `parts` holds.
    pub fn key(&self, parts: &Parts) -> Key {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&parts.bytes);
        Key(hasher.finish128().as_bytes())
    }
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A SipHash-2-4-128 of [`Parts`] under the store's [`Secret`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// How many bytes a key has.
    pub const LEN: usize = 16;

    /// No key's; what a combination begins with.
    pub const ZERO: Self = Self([0; 16]);

    /// This key and another and a number, as one key. Not a digest: it is for keys that nobody can choose.
    #[must_use]
    pub const fn and(&self, other: &Self, number: u64) -> Self {
        /// Odd, so that multiplying loses nothing; the bits are those of the golden ratio.
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        let (this, other) = (u128::from_le_bytes(self.0), u128::from_le_bytes(other.0));
        let sum = this
            .wrapping_add(number as u128)
            .wrapping_mul(ODD)
            .wrapping_add(other);
        Self(sum.wrapping_mul(ODD).to_le_bytes())
    }

    /// The bytes as a table keeps them.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Where the key belongs among `places`: 0 to `places` - 1 (0 if there are none).
    pub fn place(&self, places: u32) -> u32 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        let hash = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let scaled = u128::from(hash).saturating_mul(u128::from(places)) >> 64;
        u32::try_from(scaled).unwrap_or(0)
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
        self.bytes.push(tag);
        let len = u64::try_from(value.len()).unwrap_or(u64::MAX);
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// Adds another key as a part.
    pub fn push_key(&mut self, tag: u8, key: &Key) {
        self.push(tag, &key.0);
    }

    /// The parts in their one encoding: equal exactly when the lists of parts are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
