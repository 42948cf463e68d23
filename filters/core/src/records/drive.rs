//! Drives [`machine`] on a store that answers at once: reads, swaps, and repeats when a swap was lost.
//!
//! # Invariants
//! - *Counted while it stands*: room is taken before an answer is written, and whoever takes it out of its place gives its
//!   room back. So never is more stored than counted, and once nobody is at work the two are equal. A worker that crashes in
//!   between, or a store that fails there, leaves too much counted.

use super::machine::{self, Claim, Release, Settled, Swept, Wanted};
use super::record::{Digest, Owner, Record};
use super::set::{self, Malformed};
use super::stored::Stored;
use crate::key::Parts;
use crate::quota::NANOS_PER_SEC;
use crate::store::{MAX_SWAPS, Slot, Store, StoreError, Swap, Version};

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many records.
    pub records: u32,
    /// How many bytes of stored answers.
    pub bytes: u64,
}

/// Which record of which set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The set.
    pub set: u32,
    /// The record's key.
    pub key: Digest,
    /// The token of its execution.
    pub owner: Owner,
    /// The record's number in the set.
    pub place: u8,
    /// Which writing of the answer's value was ours: whoever claims the place after us writes another.
    version: Version,
    /// The record that was claimed again: it stands again if the claim is given back.
    earlier: Option<Record>,
}

/// What came of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// It is ours. `known` is what the request must be, where it was claimed before; if it is another, the claim is to be
    /// given back ([`Settled::Released`]).
    Ours {
        /// Where.
        place: Place,
        /// The fingerprint of the request that claimed it first.
        known: Option<Digest>,
    },
    /// There is a record already.
    Taken(Record),
    /// There is no room for another record, or for its answer.
    Full,
}

impl From<Malformed> for StoreError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The set of a key. Nobody chooses it: it is a digest under the store's secret.
pub fn set_of<S: Store>(store: &S, room: &Room, key: &Digest) -> u32 {
    let mut parts = Parts::new();
    parts.push(0, &key.to_bytes());
    let (sets, _) = set::shape(room.records);
    store.secret().key(&parts).place(sets)
}

/// The record of a key, if it has one.
///
/// # Errors
/// The store's.
pub fn find<S: Store>(
    store: &mut S,
    room: &Room,
    key: &Digest,
    now: u64,
) -> Result<Option<Record>, StoreError> {
    let set = set_of(store, room, key);
    let (bytes, _) = store.read(Slot::Records(set))?;
    Ok(machine::find(&bytes, key, now)?)
}

/// Claims a key.
///
/// # Errors
/// The store's; [`StoreError::Contended`] after [`MAX_SWAPS`] lost swaps, or if the record ended before the claim was
/// complete. Nothing is to be executed then.
pub fn claim<S: Store>(
    store: &mut S,
    room: &Room,
    wanted: &Wanted,
    now: u64,
) -> Result<Claimed, StoreError> {
    let set = set_of(store, room, &wanted.key);
    let slot = Slot::Records(set);
    let mut no_room = used(store)? >= room.bytes;
    if no_room {
        // What is over in this set may be what fills it.
        sweep(store, set, now)?;
        no_room = used(store)? >= room.bytes;
    }
    for _ in 0..MAX_SWAPS {
        let (bytes, version) = store.read(slot)?;
        match machine::claim(&bytes, wanted, now)? {
            Claim::Taken(record) => return Ok(Claimed::Taken(record)),
            Claim::Full => return Ok(Claimed::Full),
            // Looked for all the same: there may be a record to answer by.
            Claim::Claimed { .. } if no_room => return Ok(Claimed::Full),
            Claim::Claimed {
                record,
                set: bytes,
                freed,
                earlier,
            } => {
                if store.swap(slot, version, &bytes)? == Swap::Lost {
                    continue;
                }
                // What stands in our own place goes when it is reserved.
                for freed in freed.iter().filter(|freed| freed.place != record.place) {
                    let _ = empty(store, set, freed.place, freed.owner);
                }
                let place = |version| Place {
                    set,
                    key: wanted.key,
                    owner: wanted.owner,
                    place: record.place,
                    version,
                    earlier,
                };
                match reserve(store, set, &record) {
                    Ok(Some(version)) => {
                        return Ok(Claimed::Ours {
                            place: place(version),
                            known: record.fingerprint.filter(|_| wanted.fingerprint.is_none()),
                        });
                    }
                    // It took so long that the record ended or is somebody else's by now. Not claimed once more: a token is
                    // for one claim, or what is left of the first would be taken for the second's.
                    Ok(None) => {
                        let found = find(store, room, &wanted.key, now)?;
                        return found.map(Claimed::Taken).ok_or(StoreError::Contended);
                    }
                    Err(error) => {
                        // A claim without a place for its answer is none.
                        let _ = settle(store, &place(Version(0)), Settled::Released);
                        return Err(error);
                    }
                }
            }
        }
    }
    Err(StoreError::Contended)
}

/// Makes the answer's value ours; returns the number of this writing, `None` if the record is not ours any more.
fn reserve<S: Store>(
    store: &mut S,
    set: u32,
    record: &Record,
) -> Result<Option<Version>, StoreError> {
    let slot = Slot::Answer(set, record.place);
    for _ in 0..MAX_SWAPS {
        let (old, version) = store.read(slot)?;
        // In this order: whoever claims the place after we have looked writes after we have read, and our swap is lost.
        // Without it a worker that was held up here would write over the answer of those who came after it.
        let (records, _) = store.read(Slot::Records(set))?;
        if !machine::owns(&records, &record.key, record.owner)? {
            return Ok(None);
        }
        if store.swap(slot, version, &record.owner.0)? == Swap::Done {
            // What is not given back now is lost to the bound until the store ends; no reason to fail.
            let _ = give_back(store, counted(&old));
            let (bytes, version) = store.read(slot)?;
            if bytes == record.owner.0 {
                return Ok(Some(version));
            }
        }
    }
    Err(StoreError::Contended)
}

/// Takes the answer of an execution away, if it stands in this place, and gives its room back.
fn empty<S: Store>(store: &mut S, set: u32, place: u8, owner: Owner) -> Result<(), StoreError> {
    let slot = Slot::Answer(set, place);
    let (bytes, version) = store.read(slot)?;
    // If the swap is lost, whoever wrote there gives its room back.
    if is_of(&bytes, owner) && store.swap(slot, version, &[])? == Swap::Done {
        give_back(store, counted(&bytes))?;
    }
    Ok(())
}

/// Whether these bytes are the answer of this execution.
fn is_of(bytes: &[u8], owner: Owner) -> bool {
    Stored::read(bytes).is_some_and(|stored| stored.owner == owner)
}

/// How many bytes of a place count as stored: an answer's, not those of a reservation.
fn counted(bytes: &[u8]) -> u64 {
    if bytes.len() > Owner::LEN {
        u64::try_from(bytes.len()).unwrap_or(u64::MAX)
    } else {
        0
    }
}

/// Settles a record without an answer; `false` if it is not ours any more, or another request's than
/// [`Settled::Known`] says: the execution must not go on then.
///
/// # Errors
/// The store's. What is not settled is lost when its lease ends.
pub fn settle<S: Store>(
    store: &mut S,
    place: &Place,
    settled: Settled,
) -> Result<bool, StoreError> {
    let slot = Slot::Records(place.set);
    for _ in 0..MAX_SWAPS {
        let (bytes, version) = store.read(slot)?;
        let settled = match (settled, &place.earlier) {
            (Settled::Released, Some(earlier)) => {
                machine::put_back(&bytes, &place.key, place.owner, earlier)
            }
            _ => machine::settle(&bytes, &place.key, place.owner, settled),
        };
        let Some(bytes) = settled? else {
            return Ok(false);
        };
        if store.swap(slot, version, &bytes)? == Swap::Done {
            return Ok(true);
        }
    }
    Err(StoreError::Contended)
}

/// Stores an answer, or notes that it is too large for the room that is left; `false` if the record is not ours any more,
/// or was settled already.
///
/// # Errors
/// The store's; [`StoreError::Malformed`] if these bytes are not an answer of this execution. What is not settled is lost
/// when its lease ends.
pub fn store_answer<S: Store>(
    store: &mut S,
    room: &Room,
    place: &Place,
    answer: &[u8],
) -> Result<bool, StoreError> {
    if !is_of(answer, place.owner) {
        return Err(StoreError::Malformed);
    }
    let Ok(length) = u32::try_from(answer.len()) else {
        return settle(store, place, Settled::TooLarge);
    };
    if !take(store, room, counted(answer))? {
        return settle(store, place, Settled::TooLarge);
    }
    // Written only if nobody claimed the place since we did, so an answer that comes late destroys no other. Where it is not
    // known whether it was written, it stays counted.
    let slot = Slot::Answer(place.set, place.place);
    if store.swap(slot, place.version, answer)? == Swap::Lost {
        give_back(store, counted(answer))?;
        return Ok(false);
    }
    let stored = settle(store, place, Settled::Done(length))?;
    if !stored {
        empty(store, place.set, place.place, place.owner)?;
    }
    Ok(stored)
}

/// The stored answer of a record as bytes for [`Stored::read`]; `None` if it is another's by now.
///
/// # Errors
/// The store's.
pub fn answer<S: Store>(
    store: &mut S,
    room: &Room,
    record: &Record,
) -> Result<Option<Vec<u8>>, StoreError> {
    let set = set_of(store, room, &record.key);
    let (bytes, _) = store.read(Slot::Answer(set, record.place))?;
    Ok(is_of(&bytes, record.owner).then_some(bytes))
}

/// What came of ending a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// It has ended: this it was.
    Ended(Record),
    /// Its request runs still.
    Runs(Record),
    /// There is none.
    Absent,
}

/// Ends a record at an operator's word, and gives back the room of its answer.
///
/// # Errors
/// The store's.
pub fn release<S: Store>(
    store: &mut S,
    room: &Room,
    key: &Digest,
    force: bool,
    now: u64,
) -> Result<Released, StoreError> {
    let set = set_of(store, room, key);
    let slot = Slot::Records(set);
    for _ in 0..MAX_SWAPS {
        let (bytes, version) = store.read(slot)?;
        let (bytes, record) = match machine::release(&bytes, key, force, now)? {
            Release::Ended { set, record } => (set, record),
            Release::Runs(record) => return Ok(Released::Runs(record)),
            Release::Absent => return Ok(Released::Absent),
        };
        if store.swap(slot, version, &bytes)? == Swap::Done {
            // An answer that is not taken away now goes when its place is claimed.
            let _ = empty(store, set, record.place, record.owner);
            return Ok(Released::Ended(record));
        }
    }
    Err(StoreError::Contended)
}

/// Takes what is over out of a set.
///
/// # Errors
/// The store's.
pub fn sweep<S: Store>(store: &mut S, set: u32, now: u64) -> Result<(), StoreError> {
    let slot = Slot::Records(set);
    for _ in 0..MAX_SWAPS {
        let (bytes, version) = store.read(slot)?;
        let Some(Swept { set: bytes, freed }) = machine::sweep(&bytes, now)? else {
            return Ok(());
        };
        if store.swap(slot, version, &bytes)? == Swap::Done {
            for freed in freed {
                empty(store, set, freed.place, freed.owner)?;
            }
            return Ok(());
        }
    }
    Err(StoreError::Contended)
}

/// How many sets are swept at once, at most.
const MOST_SWEPT: u64 = 1024;

/// How often a set is swept, in nanoseconds.
const SWEPT_EVERY: u64 = 60 * NANOS_PER_SEC;

/// Sweeps the sets whose turn it is since somebody did last: each once a minute, whoever calls and how often.
///
/// # Errors
/// The store's.
pub fn sweep_some<S: Store>(store: &mut S, room: &Room, now: u64) -> Result<(), StoreError> {
    let (sets, _) = set::shape(room.records);
    let (bytes, version) = store.read(Slot::Sweep)?;
    let (last, next) = bytes.split_at_checked(8).unwrap_or_default();
    let (last, next) = (number(last), number(next));
    let all = u128::from(now.saturating_sub(last)).saturating_mul(u128::from(sets));
    let due = all.checked_div(u128::from(SWEPT_EVERY)).unwrap_or(0);
    let due = u64::try_from(due)
        .unwrap_or(u64::MAX)
        .min(u64::from(sets))
        .min(MOST_SWEPT);
    if due == 0 {
        return Ok(());
    }
    let end = next.saturating_add(due);
    let turn = [
        now.to_le_bytes(),
        end.checked_rem(u64::from(sets)).unwrap_or(0).to_le_bytes(),
    ];
    // Who loses the turn leaves it to whoever took it.
    if store.swap(Slot::Sweep, version, &turn.concat())? == Swap::Lost {
        return Ok(());
    }
    for set in next..end {
        let set = set.checked_rem(u64::from(sets)).unwrap_or(0);
        sweep(store, u32::try_from(set).unwrap_or(0), now)?;
    }
    Ok(())
}

/// How many bytes of answers are stored.
///
/// # Errors
/// The store's.
pub fn used<S: Store>(store: &mut S) -> Result<u64, StoreError> {
    let (bytes, _) = store.read(Slot::Room)?;
    Ok(number(&bytes))
}

/// Takes room for an answer; `false` if there is not as much.
fn take<S: Store>(store: &mut S, room: &Room, length: u64) -> Result<bool, StoreError> {
    change(store, |used| {
        Some(used.saturating_add(length)).filter(|used| *used <= room.bytes)
    })
}

fn give_back<S: Store>(store: &mut S, length: u64) -> Result<bool, StoreError> {
    if length == 0 {
        return Ok(true);
    }
    change(store, |used| Some(used.saturating_sub(length)))
}

/// Changes the number of bytes that are stored; `false` if `new` does not want to. More patient than other swaps: every
/// answer changes this one number.
fn change<S: Store>(store: &mut S, new: impl Fn(u64) -> Option<u64>) -> Result<bool, StoreError> {
    for _ in 0..MAX_SWAPS.saturating_mul(8) {
        let (bytes, version) = store.read(Slot::Room)?;
        let Some(new) = new(number(&bytes)) else {
            return Ok(false);
        };
        if store.swap(Slot::Room, version, &new.to_le_bytes())? == Swap::Done {
            return Ok(true);
        }
    }
    Err(StoreError::Contended)
}

/// A stored number; what is none counts as 0.
fn number(bytes: &[u8]) -> u64 {
    <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes)
}
