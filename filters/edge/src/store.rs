//! The local store: Envoy's shared data, which all workers of one Envoy see.
//!
//! # Invariants
//! - *A fixed number of keys*: shared data never forgets a key, so each name is one of a limit's sets, one of the places
//!   for generations of cached copies, for records and their answers, for refused scopes, or one of a few single values. They are made when they are first touched and
//!   never removed. A set's name has a limit where the others have nothing, so none is ever another's.
//! - *Every write is a swap on an entry that exists*: a swap on an absent key always succeeds, so two workers
//!   that both found it absent would both win. [`SharedStore::read`] therefore puts an empty value in place
//!   first ([`put_if_absent`]), and nothing but that function writes without having read.

use tidegate_core::key::Secret;
use tidegate_core::policy::{LimitId, Policy};
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::store::{MAX_SWAPS, Slot, Store, StoreError, Swap, Version};
use tidegate_core::{ledger, records, table};

use crate::host::{self, Clock};

/// A number that no writing has: the host counts them up from 1.
const NO_WRITING: u32 = u32::MAX;

/// How long operators are not told the same thing again, in nanoseconds.
const TOLD_EVERY: u64 = 60 * NANOS_PER_SEC;

/// A secret's length in bytes.
const SECRET_LEN: usize = 16;

/// The store of one policy.
pub(crate) struct SharedStore {
    secret: Secret,
    /// For each limit, what the names of its sets begin with.
    tables: Vec<Vec<u8>>,
    /// What the names of all other values begin with.
    others: Vec<u8>,
    /// What the names of records and answers begin with.
    records: Vec<u8>,
    /// What the names of refused scopes begin with.
    refused: Vec<u8>,
    /// The name of a value, written anew for each call.
    name: Vec<u8>,
}

impl SharedStore {
    /// Opens the store of `policy`. Names hold the policy, the limit and the size of its table: a new version
    /// of a policy finds the buckets of the last one, and a table of another size starts anew.
    pub(crate) fn open(policy: &Policy) -> Result<Self, StoreError> {
        let tables = policy
            .limits
            .iter()
            .map(|limit| {
                let sets = table::sets(limit.max_keys);
                let format = table::FORMAT;
                format!("tidegate/{format}/{}/{}/{sets}/", policy.name, limit.name).into_bytes()
            })
            .collect();
        Ok(Self {
            secret: secret()?,
            tables,
            // Records are found by the set that they fall into: with another number of sets they start anew.
            records: {
                let (sets, ways) = records::set::shape(policy.room.records);
                let format = records::set::FORMAT;
                format!("tidegate/{format}/{}//{sets}x{ways}/", policy.name).into_bytes()
            },
            others: format!("tidegate/1/{}//", policy.name).into_bytes(),
            refused: format!("tidegate/{}/{}//", ledger::set::FORMAT, policy.name).into_bytes(),
            name: Vec::with_capacity(160),
        })
    }

    /// Notes under which number of records they are found; `false` if there were some under another.
    pub(crate) fn note_shape(&self) -> bool {
        let name = [self.others.as_slice(), b"shape"].concat();
        match read_or_put(&name, &self.records) {
            Ok((known, _)) if known == self.records => true,
            Ok((_, cas)) => {
                let _ = host::swap_shared(&name, &self.records, cas);
                false
            }
            Err(_) => true,
        }
    }

    /// Writes the name of a value. Of one that is no bucket it ends in a word and a number, where that of a set has numbers
    /// alone behind the limit.
    fn name(&mut self, slot: Slot) {
        let Self {
            tables,
            others,
            records,
            refused,
            name,
            ..
        } = self;
        name.clear();
        let (begin, word, number, place) = match slot {
            Slot::Buckets(LimitId(limit), set) => {
                if let Some(table) = tables.get(limit) {
                    name.extend_from_slice(table);
                }
                name.extend_from_slice(&set.to_le_bytes());
                return;
            }
            Slot::Generation(place) => (others, "generation", place, 0),
            Slot::Records(set) => (records, "records", set, 0),
            Slot::Answer(set, place) => (records, "answer", set, place),
            Slot::Room => (records, "room", 0, 0),
            Slot::Sweep => (records, "sweep", 0, 0),
            Slot::Refused(set) => (refused, "refused", set, 0),
            Slot::RefusedTurn => (refused, "refused-turn", 0, 0),
        };
        name.extend_from_slice(begin);
        name.extend_from_slice(word.as_bytes());
        name.extend_from_slice(&number.to_le_bytes());
        name.push(place);
    }
}

impl Store for SharedStore {
    fn secret(&self) -> Secret {
        self.secret
    }

    fn later(&mut self, now: u64) -> u64 {
        host::now(Clock::Monotonic).map_or(now, |later| later.max(now))
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.name(slot);
        let (bytes, cas) = read_or_put(&self.name, &[])?;
        Ok((bytes, Version(cas)))
    }

    fn peek(&mut self, slot: Slot) -> Result<Vec<u8>, StoreError> {
        self.name(slot);
        match host::shared(&self.name) {
            Ok(found) => Ok(found.map(|(bytes, _)| bytes).unwrap_or_default()),
            Err(host::Failed) => Err(StoreError::Unavailable),
        }
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        self.name(slot);
        match host::swap_shared(&self.name, bytes, version.0) {
            Ok(true) => Ok(Swap::Done),
            Ok(false) => Ok(Swap::Lost),
            Err(host::Failed) => Err(StoreError::Unavailable),
        }
    }
}

/// A stored number; what is none counts as 0.
fn number(bytes: &[u8]) -> u64 {
    <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes)
}

/// Reads a value; where there is none, `value` is put in place first.
fn read_or_put(name: &[u8], value: &[u8]) -> Result<(Vec<u8>, u32), StoreError> {
    match host::shared(name) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => put_if_absent(name, value),
        Err(host::Failed) => Err(StoreError::Unavailable),
    }
}

/// Puts a value in place unless there is one; returns what is there then, and the number of its writing.
fn put_if_absent(name: &[u8], value: &[u8]) -> Result<(Vec<u8>, u32), StoreError> {
    // Whether it was written here or by another worker a moment ago makes no difference.
    host::swap_shared(name, value, NO_WRITING)
        .and_then(|_| host::shared(name))
        .ok()
        .flatten()
        .ok_or(StoreError::Unavailable)
}

/// The secret of this Envoy's shared data, made by whichever VM comes first.
fn secret() -> Result<Secret, StoreError> {
    const NAME: &[u8] = b"tidegate/secret";
    let known = host::shared(NAME).map_err(|_| StoreError::Unavailable)?;
    let (bytes, _) = match known {
        Some(known) => known,
        None => {
            let fresh: [u8; SECRET_LEN] = host::random().map_err(|_| StoreError::Unavailable)?;
            put_if_absent(NAME, &fresh)?
        }
    };
    let bytes = <[u8; SECRET_LEN]>::try_from(bytes).map_err(|_| StoreError::Malformed)?;
    Ok(Secret::new(bytes))
}

/// The name of a value that is no part of a table, nor of the records: what operators are told.
pub(crate) fn name(policy: &Policy, what: &str) -> Vec<u8> {
    format!("tidegate/1/{}//{what}", policy.name).into_bytes()
}

/// Puts what `make` makes of a value in its place; it is called again as often as others were faster.
///
/// # Errors
/// The store's: nothing was written.
pub(crate) fn change(
    name: &[u8],
    mut make: impl FnMut(&[u8]) -> Vec<u8>,
) -> Result<(), StoreError> {
    for _ in 0..MAX_SWAPS {
        let (bytes, cas) = read_or_put(name, &[])?;
        match host::swap_shared(name, &make(&bytes), cas) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(host::Failed) => return Err(StoreError::Unavailable),
        }
    }
    Err(StoreError::Contended)
}

/// Notes an event of which operators are told once per interval and kind; `Some` if they are to be told now: how many there
/// were since they were told last, this one included. Counted over all workers; `now` is the store's.
pub(crate) fn told(policy: &Policy, kind: &str, now: u64) -> Option<u64> {
    let mut tell = None;
    let noted = change(&name(policy, &format!("told/{kind}")), |bytes| {
        let (last, count) = bytes.split_at_checked(8).unwrap_or_default();
        let (last, count) = (number(last), number(count).saturating_add(1));
        let due = bytes.is_empty() || now.saturating_sub(last) >= TOLD_EVERY;
        tell = due.then_some(count);
        let (last, left) = if due { (now, 0) } else { (last, count) };
        [last.to_le_bytes(), left.to_le_bytes()].concat()
    });
    noted.ok().and(tell)
}
