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
use crate::policy::{Limit, LimitId};
use crate::store::{Slot, Store, StoreError};

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
    match max_keys.checked_div(WAYS as u32) {
        None | Some(0) => 1,
        Some(sets) => sets,
    }
}

/// A set whose bytes are none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

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
    /// In the entry of this number.
    Own(usize),
    /// Nowhere yet, and there is room for it.
    New,
    /// In the overflow bucket: every entry belongs to somebody whose bucket is not full.
    Overflow,
}

type Entry = [u8; ENTRY_LEN];

/// Finds the bucket of `key` in a set as it was read from the store. No bytes at all are an empty set.
///
/// # Errors
/// [`Malformed`] where the bytes are not a set of this [`FORMAT`].
pub fn find(set: &[u8], key: &Key, now: u64) -> Result<Bucket, Malformed> {
    let (overflow, entries) = read(set)?;
    let mut owned = entries.iter().map(split).enumerate();
    if let Some((index, (_, state))) = owned.find(|(_, (owner, _))| owner == key) {
        return Ok(Bucket {
            state,
            place: Place::Own(index),
        });
    }
    Ok(Bucket {
        state: overflow,
        place: if count_busy(entries, now) < WAYS {
            Place::New
        } else {
            Place::Overflow
        },
    })
}

/// Looks for the bucket of `key` in the table of a limit, for somebody who only looks: nothing is made.
///
/// # Errors
/// The store's; [`StoreError::Malformed`] where the bytes are not a set of this [`FORMAT`].
pub fn peek<S: Store>(
    store: &mut S,
    (id, limit): (LimitId, &Limit),
    key: &Key,
    now: u64,
) -> Result<Bucket, StoreError> {
    let set = store.peek(Slot::Buckets(id, key.place(sets(limit.max_keys))))?;
    find(&set, key, now).map_err(|Malformed| StoreError::Malformed)
}

/// Puts the bucket of `key` into `state`, in the place where it was found in this very set at the same `now`.
/// Where it is new, buckets that are idle make room.
///
/// # Errors
/// [`Malformed`] where the bytes are not a set of this [`FORMAT`].
pub fn put(
    set: &mut Vec<u8>,
    key: &Key,
    place: Place,
    state: FullAt,
    now: u64,
) -> Result<(), Malformed> {
    read(set)?;
    if set.is_empty() {
        set.reserve_exact(HEADER_LEN.saturating_add(ENTRY_LEN));
        set.push(FORMAT);
        set.extend_from_slice(&FullAt::ALWAYS.0.to_le_bytes());
    }
    let at = match place {
        Place::Overflow => 1,
        Place::Own(index) => index
            .saturating_mul(ENTRY_LEN)
            .saturating_add(HEADER_LEN.saturating_add(Key::LEN)),
        Place::New => {
            drop_idle(set, now);
            set.extend_from_slice(&key.to_bytes());
            set.extend_from_slice(&state.0.to_le_bytes());
            return Ok(());
        }
    };
    let there = set.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<8>);
    *there.ok_or(Malformed)? = state.0.to_le_bytes();
    Ok(())
}

/// How many buckets of a set are not full at `now`.
///
/// # Errors
/// [`Malformed`] where the bytes are not a set of this [`FORMAT`].
pub fn busy(set: &[u8], now: u64) -> Result<usize, Malformed> {
    let (_, entries) = read(set)?;
    Ok(count_busy(entries, now))
}

/// The buckets of a set that have places of their own.
///
/// # Errors
/// [`Malformed`] where the bytes are not a set of this [`FORMAT`].
pub fn buckets(set: &[u8]) -> Result<impl Iterator<Item = (Key, FullAt)>, Malformed> {
    let (_, entries) = read(set)?;
    Ok(entries.iter().map(split))
}

fn count_busy(entries: &[Entry], now: u64) -> usize {
    let busy = |entry: &&Entry| !split(entry).1.is_idle(now);
    entries.iter().filter(busy).count()
}

/// Takes the idle buckets out of a set that is not empty.
fn drop_idle(set: &mut Vec<u8>, now: u64) {
    let mut kept = HEADER_LEN;
    let mut from = HEADER_LEN;
    while let Some(entry) = set.get(from..).and_then(<[u8]>::first_chunk::<ENTRY_LEN>) {
        let entry = *entry;
        if !split(&entry).1.is_idle(now) {
            if let Some(place) = set.get_mut(kept..).and_then(<[u8]>::first_chunk_mut) {
                *place = entry;
            }
            kept = kept.saturating_add(ENTRY_LEN);
        }
        from = from.saturating_add(ENTRY_LEN);
    }
    set.truncate(kept);
}

/// The overflow bucket and the entries of a set.
fn read(set: &[u8]) -> Result<(FullAt, &[Entry]), Malformed> {
    if set.is_empty() {
        return Ok((FullAt::ALWAYS, &[]));
    }
    let (header, rest) = set.split_first_chunk::<HEADER_LEN>().ok_or(Malformed)?;
    let [version, overflow @ ..] = *header;
    let (entries, odd) = rest.as_chunks::<ENTRY_LEN>();
    if version != FORMAT || !odd.is_empty() || entries.len() > WAYS {
        return Err(Malformed);
    }
    Ok((FullAt(u64::from_le_bytes(overflow)), entries))
}

fn split(entry: &Entry) -> (Key, FullAt) {
    let (key, state) = entry
        .split_first_chunk::<{ Key::LEN }>()
        .unwrap_or((&[0; Key::LEN], &[]));
    let state = state.first_chunk::<8>().copied().unwrap_or_default();
    (Key::from_bytes(*key), FullAt(u64::from_le_bytes(state)))
}
