//! What is remembered about one key.

use sha2::{Digest as _, Sha256};

use crate::key::Parts;

/// A full SHA-256: of what a record is for, or of what a request was. Two that differ never meet, and neither key nor body
/// can be read from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; Digest::LEN]);

impl Digest {
    /// How many bytes it has.
    pub const LEN: usize = 32;

    /// The digest of parts that each carry their tag and their length.
    pub fn of(parts: &Parts) -> Self {
        Self(Sha256::digest(parts.as_bytes()).into())
    }

    /// The digest that these bytes are.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        self.0
    }

    /// Whether two are the same, in a time that does not tell how much of them is.
    pub fn is(&self, other: &Self) -> bool {
        let differ = self.0.iter().zip(other.0).fold(0, |d, (a, b)| d | (a ^ b));
        core::hint::black_box(differ) == 0
    }
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Digest({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

/// A random token that tells one execution from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub [u8; Owner::LEN]);

impl Owner {
    /// How many bytes it has.
    pub const LEN: usize = 16;
}

/// What is remembered about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// Whose key, on which path.
    pub key: Digest,
    /// Its number in the set, under which its answer is stored.
    pub place: u8,
    /// How far it has come.
    pub state: State,
    /// Which execution it is about.
    pub owner: Owner,
    /// What the request was; `None` until its body has been read, and where only the key counts.
    pub fingerprint: Option<Digest>,
    /// When the execution counts as lost, if nothing was heard of it.
    pub lease_ends: u64,
    /// When the record ends.
    pub ends: u64,
    /// It was made in shadow: the policy kept nobody from running, and keeps no answer.
    pub shadow: bool,
}

/// How far an execution has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// It runs.
    Running,
    /// Its answer is stored; so many bytes.
    Done(u32),
    /// It was sent to the origin, and what came of it is not known.
    Unknown,
    /// It was answered, and the answer was too large to store.
    TooLarge,
}

impl Record {
    /// How far it has come by `now`: what runs beyond its lease is lost.
    pub const fn state_at(&self, now: u64) -> State {
        match self.state {
            State::Running if self.lease_ends <= now => State::Unknown,
            state => state,
        }
    }

    /// Whether it has ended by `now`.
    pub const fn is_over(&self, now: u64) -> bool {
        self.ends <= now
    }

    /// Whether another request with the same key is another request: both are known, and differ.
    pub fn is_other(&self, fingerprint: Option<&Digest>) -> bool {
        match (&self.fingerprint, fingerprint) {
            (Some(own), Some(other)) => !own.is(other),
            _ => false,
        }
    }
}
