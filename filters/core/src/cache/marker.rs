//! Markers: what stands for a scope wherever a cache can see it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::key::Parts;

/// What a scope's parts begin with, so that a digest of anything else under the same key is no marker.
const PURPOSE: &[u8] = b"tidegate cache scope 1";

/// The tag of [`PURPOSE`]; no dimension has it.
const PURPOSE_TAG: u8 = 255;

/// The key under which markers are made.
#[derive(Clone, Default)]
pub struct ScopeKey(Option<Hmac<Sha256>>);

impl ScopeKey {
    /// A key from the environment; every gate in front of one cache has the same. Without a key (it is empty) a marker
    /// is a bare digest, which whoever can see it, and knows how callers are named, could make too.
    pub fn new(key: &[u8]) -> Self {
        if key.is_empty() {
            return Self(None);
        }
        // Keys of every length are taken (RFC 2104, section 2).
        Self(Hmac::new_from_slice(key).ok())
    }

    /// Whether there is a key.
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The marker of a scope of a policy: HMAC-SHA-256 of its parts, or SHA-256 without a key. A policy of another name
    /// starts with other markers, as it starts with other state.
    pub fn marker(&self, policy: &str, scope: &Parts) -> Marker {
        let mut purpose = Parts::new();
        purpose.push(PURPOSE_TAG, PURPOSE);
        purpose.push(PURPOSE_TAG, policy.as_bytes());
        let digest = match &self.0 {
            Some(key) => {
                let mut mac = key.clone();
                mac.update(purpose.as_bytes());
                mac.update(scope.as_bytes());
                mac.finalize().into_bytes()
            }
            None => Sha256::new()
                .chain_update(purpose.as_bytes())
                .chain_update(scope.as_bytes())
                .finalize(),
        };
        Marker::from_bytes(digest.into())
    }
}

impl core::fmt::Debug for ScopeKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ScopeKey(..)")
    }
}

/// A marker: 64 digits that stand for a scope, the same length for every scope, with no character that means anything in
/// a path or a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Marker([u8; Marker::LEN]);

impl Marker {
    /// How many bytes a marker has as text.
    pub const LEN: usize = 64;

    /// The marker for 32 bytes: a digest, or random ones.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        let mut text = [0; Self::LEN];
        for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
            for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            }
        }
        Self(text)
    }

    /// The marker that stands in a path or a header; `None` if what stands there is none.
    pub fn read(text: &[u8]) -> Option<Self> {
        let text = <[u8; Self::LEN]>::try_from(text).ok()?;
        let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.iter().all(digit).then_some(Self(text))
    }

    /// Its text.
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl core::fmt::Debug for Marker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Enough to tell two apart in a test, too little to be one.
        let start: String = self.0.iter().take(8).map(|b| char::from(*b)).collect();
        write!(f, "Marker({start}..)")
    }
}
