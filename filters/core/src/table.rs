//! The tables in which buckets are kept: how one set of a table looks in the store, and what a charge
//! makes of it. Everything here is a function of the old bytes, the time and the request.
//!
//! A table is a fixed number of sets; a key belongs to one of them. A set holds the buckets that are not
//! idle, at most [`WAYS`], and one *overflow bucket* that newcomers share while it is full.
//!
//! ```text
//! version: u8 = 1 | overflow: u64 | (key: 16 bytes, full at: u64) * 0..=WAYS       little-endian
//! ```
//!
//! # Invariants
//! - *Bounded*: a set is at most [`MAX_SET_LEN`] bytes, a table at most `sets` of them.
//! - *Eviction never hands quota back*: only an idle bucket leaves a set, and that is as good as absent.
//! - *The way out of the overflow bucket is no gift*: a newcomer who gets a bucket of its own starts from
//!   the state of the overflow bucket, which counts whatever the newcomer took there.

use crate::gcra::FullAt;
use crate::key::Key;

/// How many buckets a set holds.
pub const WAYS: usize = 16;

/// The format of a set. It is part of the slots' names too: two formats never meet.
pub const FORMAT: u8 = 1;

/// The size of a set that is full, in bytes.
pub const MAX_SET_LEN: usize = HEADER_LEN + WAYS * ENTRY_LEN;

const HEADER_LEN: usize = 1 + 8;
const ENTRY_LEN: usize = Key::LEN + 8;

/// How many sets the table of a limit has, so that it holds at most `max_keys` buckets.
pub const fn sets(max_keys: u32) -> u32 {
    let sets = max_keys / 16;
    if sets == 0 { 1 } else { sets }
}

/// A set whose bytes are none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// One set of a table, as read from the store. No bytes at all are an empty set.
#[derive(Debug, Clone, Copy)]
pub struct Set<'a> {
    overflow: FullAt,
    entries: &'a [[u8; ENTRY_LEN]],
}

/// A bucket that was looked for in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Its state.
    pub state: FullAt,
    /// Where it stands.
    pub place: Place,
}

/// Where a bucket stands in its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In an entry of its own.
    Own,
    /// Nowhere yet, and there is room for it.
    New,
    /// In the overflow bucket: every entry belongs to somebody whose bucket is not full.
    Overflow,
}

impl<'a> Set<'a> {
    /// Reads a set.
    ///
    /// # Errors
    /// [`Malformed`] where the bytes are not a set of this [`FORMAT`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.is_empty() {
            return Ok(Self {
                overflow: FullAt::ALWAYS,
                entries: &[],
            });
        }
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed)?;
        let [version, overflow @ ..] = *header;
        let (entries, odd) = rest.as_chunks::<ENTRY_LEN>();
        if version != FORMAT || !odd.is_empty() || entries.len() > WAYS {
            return Err(Malformed);
        }
        Ok(Self {
            overflow: FullAt(u64::from_le_bytes(overflow)),
            entries,
        })
    }

    /// Finds the bucket of `key`.
    pub fn find(&self, key: &Key, now: u64) -> Bucket {
        let mut busy = 0_usize;
        for entry in self.entries {
            let (owner, state) = split(entry);
            if owner == key.as_bytes() {
                return Bucket {
                    state,
                    place: Place::Own,
                };
            }
            if !state.is_idle(now) {
                busy = busy.saturating_add(1);
            }
        }
        Bucket {
            state: self.overflow,
            place: if busy < WAYS {
                Place::New
            } else {
                Place::Overflow
            },
        }
    }

    /// The set with the bucket of `key` in `state`: the bytes to store. Buckets that are idle at `now` are
    /// left out.
    pub fn with(&self, key: &Key, place: Place, state: FullAt, now: u64) -> Vec<u8> {
        let kept = self.entries.len().saturating_add(1);
        let mut bytes =
            Vec::with_capacity(kept.saturating_mul(ENTRY_LEN).saturating_add(HEADER_LEN));
        let overflow = match place {
            Place::Overflow => state,
            Place::Own | Place::New => self.overflow,
        };
        bytes.push(FORMAT);
        bytes.extend_from_slice(&overflow.0.to_le_bytes());
        for entry in self.entries {
            let (owner, old) = split(entry);
            if owner != key.as_bytes() && !old.is_idle(now) {
                bytes.extend_from_slice(entry);
            }
        }
        if place != Place::Overflow {
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(&state.0.to_le_bytes());
        }
        bytes
    }

    /// How many buckets are not full at `now`.
    pub fn busy(&self, now: u64) -> usize {
        self.entries
            .iter()
            .filter(|entry| !split(entry).1.is_idle(now))
            .count()
    }
}

fn split(entry: &[u8; ENTRY_LEN]) -> (&[u8; Key::LEN], FullAt) {
    let (key, state) = entry
        .split_first_chunk::<{ Key::LEN }>()
        .unwrap_or((&[0; Key::LEN], &[]));
    let state = state.first_chunk::<8>().copied().unwrap_or_default();
    (key, FullAt(u64::from_le_bytes(state)))
}
