//! What a request makes of a set of records: functions of the old bytes, the time and the request. Who drives them reads
//! and swaps, and repeats when the swap was lost.

use super::record::{Digest, Owner, Record, State};
use super::set::{self, Malformed};

/// The record of a key, if it has one that is not over.
///
/// # Errors
/// [`Malformed`].
pub fn find(set: &[u8], key: &Digest, now: u64) -> Result<Option<Record>, Malformed> {
    let records = set::read(set)?;
    let found = records.into_iter().find(|record| record.key == *key);
    Ok(found.filter(|record| !record.is_over(now)))
}

/// What a claim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Whose key, on which path.
    pub key: Digest,
    /// What the request is; `None` while its body has not been read.
    pub fingerprint: Option<Digest>,
    /// The token of this execution.
    pub owner: Owner,
    /// How long it may run, in nanoseconds.
    pub lease: u64,
    /// How long its answer is kept, in nanoseconds.
    pub ttl: u64,
    /// Whether a record whose outcome is unknown may be claimed again once its lease has ended.
    pub retries: bool,
    /// How many records a set holds: 1 to [`set::WAYS`].
    pub ways: u8,
    /// It is made in shadow.
    pub shadow: bool,
}

/// What came of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is ours, if these bytes are swapped in.
    Claimed {
        /// The record.
        record: Record,
        /// The set.
        set: Vec<u8>,
        /// Records that were over, or are claimed again: their answers go.
        freed: Vec<Record>,
        /// The record that is claimed again: what came of its execution is not known.
        earlier: Option<Record>,
    },
    /// There is a record already.
    Taken(Record),
    /// Every record of the set is live.
    Full,
}

/// Claims a key.
///
/// # Errors
/// [`Malformed`].
pub fn claim(set: &[u8], wanted: &Wanted, now: u64) -> Result<Claim, Malformed> {
    let (mut freed, mut records): (Vec<_>, Vec<_>) = set::read(set)?
        .into_iter()
        .partition(|record| record.is_over(now));
    let mut fingerprint = wanted.fingerprint;
    let mut earlier = None;
    if let Some(index) = records.iter().position(|record| record.key == wanted.key) {
        let record = records.swap_remove(index);
        // Also where the owner said that it does not know: the origin may be at work until the lease ends.
        let again = wanted.retries
            && record.lease_ends <= now
            && record.state_at(now) == State::Unknown
            && !record.is_other(wanted.fingerprint.as_ref());
        if !again {
            return Ok(Claim::Taken(record));
        }
        // The body that comes now must be the one that came then.
        fingerprint = fingerprint.or(record.fingerprint);
        freed.push(record);
        earlier = Some(record);
    }
    let taken = |place: &u8| records.iter().any(|record| record.place == *place);
    // A set with more than that could not be read again.
    let ways = wanted.ways.min(set::WAYS);
    let Some(place) = (0..ways).find(|place| !taken(place)) else {
        return Ok(Claim::Full);
    };
    let record = Record {
        key: wanted.key,
        place,
        state: State::Running,
        owner: wanted.owner,
        fingerprint,
        lease_ends: now.saturating_add(wanted.lease),
        ends: now.saturating_add(wanted.ttl),
        shadow: wanted.shadow,
    };
    records.push(record);
    Ok(Claim::Claimed {
        record,
        set: set::write(&records),
        freed,
        earlier,
    })
}

/// What an execution has to say about its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Its request's body has been read: this is what it was. Not settled if the record knows of another.
    Known(Digest),
    /// Its request has come as a whole, and begins to run: its lease counts from now.
    Begins {
        /// What it was, where that was not known.
        fingerprint: Option<Digest>,
        /// When it counts as lost, if nothing is heard of it.
        lease_ends: u64,
    },
    /// It was answered, and the answer is stored: so many bytes.
    Done(u32),
    /// It was answered, and the answer is too large to store.
    TooLarge,
    /// It was sent, and what came of it is not known.
    Unknown,
    /// It never reached the origin, or the origin did not take it: the key is free.
    Released,
}

/// Whether a record is the owner's and not settled.
///
/// # Errors
/// [`Malformed`].
pub fn owns(set: &[u8], key: &Digest, owner: Owner) -> Result<bool, Malformed> {
    let records = set::read(set)?;
    Ok(records.iter().any(|record| is_open(record, key, owner)))
}

/// What runs beyond its lease and was not claimed again is still its owner's: a late answer is an answer.
fn is_open(record: &Record, key: &Digest, owner: Owner) -> bool {
    let open = matches!(record.state, State::Running | State::Unknown);
    open && record.key == *key && record.owner == owner
}

/// Settles a record; `None` if it is not the owner's any more.
///
/// # Errors
/// [`Malformed`].
pub fn settle(
    set: &[u8],
    key: &Digest,
    owner: Owner,
    settled: Settled,
) -> Result<Option<Vec<u8>>, Malformed> {
    let mut records = set::read(set)?;
    let own = |record: &Record| is_open(record, key, owner);
    let Some(index) = records.iter().position(own) else {
        return Ok(None);
    };
    let Some(record) = records.get_mut(index) else {
        return Ok(None);
    };
    match settled {
        Settled::Known(fingerprint) if record.is_other(Some(&fingerprint)) => return Ok(None),
        Settled::Known(fingerprint) => record.fingerprint = Some(fingerprint),
        Settled::Begins {
            fingerprint,
            lease_ends,
        } => {
            if fingerprint.is_some_and(|fingerprint| record.is_other(Some(&fingerprint))) {
                return Ok(None);
            }
            record.fingerprint = record.fingerprint.or(fingerprint);
            record.lease_ends = record.lease_ends.max(lease_ends).min(record.ends);
        }
        Settled::Done(length) => record.state = State::Done(length),
        Settled::TooLarge => record.state = State::TooLarge,
        Settled::Unknown => record.state = State::Unknown,
        Settled::Released => {
            records.swap_remove(index);
        }
    }
    Ok(Some(set::write(&records)))
}

/// Gives back a record that was claimed again and whose execution never reached the origin: the key is not free, because
/// what came of the execution before is still not known. `None` if it is not the owner's any more.
///
/// # Errors
/// [`Malformed`].
pub fn put_back(
    set: &[u8],
    key: &Digest,
    owner: Owner,
    earlier: &Record,
) -> Result<Option<Vec<u8>>, Malformed> {
    let mut records = set::read(set)?;
    let mut own = records.iter_mut();
    let Some(record) = own.find(|record| is_open(record, key, owner)) else {
        return Ok(None);
    };
    // Not the place, which is another's by now, and so not the owner, whose answer would be looked for there.
    *record = Record {
        state: State::Unknown,
        place: record.place,
        owner,
        ..*earlier
    };
    Ok(Some(set::write(&records)))
}

/// What came of ending a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// It ends, if these bytes are swapped in: its answer goes, and its key is free.
    Ended {
        /// The set.
        set: Vec<u8>,
        /// What it was.
        record: Record,
    },
    /// Its request runs still.
    Runs(Record),
    /// There is none.
    Absent,
}

/// Ends a record at an operator's word, whoever owns it. One that runs ends by `force` alone: its request may reach the
/// origin still, and the next one would be a second execution.
///
/// # Errors
/// [`Malformed`].
pub fn release(set: &[u8], key: &Digest, force: bool, now: u64) -> Result<Release, Malformed> {
    let mut records = set::read(set)?;
    let live = |record: &Record| record.key == *key && !record.is_over(now);
    let Some(index) = records.iter().position(live) else {
        return Ok(Release::Absent);
    };
    let record = records.swap_remove(index);
    if record.state_at(now) == State::Running && !force {
        return Ok(Release::Runs(record));
    }
    Ok(Release::Ended {
        set: set::write(&records),
        record,
    })
}

/// A set without what was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The set, if it is swapped in.
    pub set: Vec<u8>,
    /// What was over: these answers go.
    pub freed: Vec<Record>,
}

/// Takes out what is over; `None` if nothing is.
///
/// # Errors
/// [`Malformed`].
pub fn sweep(set: &[u8], now: u64) -> Result<Option<Swept>, Malformed> {
    let (freed, records): (Vec<_>, Vec<_>) = set::read(set)?
        .into_iter()
        .partition(|record| record.is_over(now));
    let set = set::write(&records);
    Ok((!freed.is_empty()).then_some(Swept { set, freed }))
}
