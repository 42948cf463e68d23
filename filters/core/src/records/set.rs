//! How several records look in the store.
//!
//! ```text
//! format: u8 = 1 | record * 0..=WAYS                                     little-endian
//! record: key 32 | place u8 | state u8 | owner 16 | fingerprint 32 | lease ends u64 | ends u64 | answer's length u32
//! ```
//!
//! A record without an answer has a length of 0, or of [`SHADOW`] if it was made in shadow, which keeps none.

use super::record::{Digest, Owner, Record, State};

/// How many records a set holds at most.
pub const WAYS: u8 = 32;

/// The format of a set; part of its name in the store too.
pub const FORMAT: u8 = 1;

/// One record's size, in bytes.
pub const RECORD_LEN: usize = Digest::LEN * 2 + Owner::LEN + 1 + 1 + 8 + 8 + 4;

/// The size of a set that is full, in bytes.
pub const MAX_LEN: usize = 1 + RECORD_LEN * WAYS as usize;

/// A set whose bytes are none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// How many sets there are for so many records, and how many records each holds.
pub fn shape(records: u32) -> (u32, u8) {
    let ways = u8::try_from(records.max(1)).unwrap_or(WAYS).min(WAYS);
    let sets = records.checked_div(u32::from(ways)).unwrap_or(1).max(1);
    (sets, ways)
}

/// The flag of a state whose record has a fingerprint.
const KNOWN: u8 = 0x80;

/// The length of no answer that says that a record was made in shadow. Not a flag of its own: modules that know of none
/// read such a record too, so that a module can be taken back.
const SHADOW: u32 = u32::MAX;

/// Reads a set. No bytes at all are an empty one.
///
/// # Errors
/// [`Malformed`].
pub fn read(bytes: &[u8]) -> Result<Vec<Record>, Malformed> {
    let Some((format, records)) = bytes.split_first() else {
        return Ok(Vec::new());
    };
    let (records, rest) = records.as_chunks::<RECORD_LEN>();
    if *format != FORMAT || !rest.is_empty() || records.len() > usize::from(WAYS) {
        return Err(Malformed);
    }
    records.iter().map(|r| record(r).ok_or(Malformed)).collect()
}

/// Writes a set.
pub fn write(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len().saturating_mul(RECORD_LEN).saturating_add(1));
    bytes.push(FORMAT);
    for record in records {
        let none = if record.shadow { SHADOW } else { 0 };
        let (state, length) = match record.state {
            State::Running => (1, none),
            State::Done(length) => (2, length),
            State::Unknown => (3, none),
            State::TooLarge => (4, none),
        };
        let known = if record.fingerprint.is_some() {
            KNOWN
        } else {
            0
        };
        let fingerprint = record
            .fingerprint
            .map_or([0; Digest::LEN], Digest::to_bytes);
        bytes.extend_from_slice(&record.key.to_bytes());
        bytes.extend_from_slice(&[record.place, state | known]);
        bytes.extend_from_slice(&record.owner.0);
        bytes.extend_from_slice(&fingerprint);
        bytes.extend_from_slice(&record.lease_ends.to_le_bytes());
        bytes.extend_from_slice(&record.ends.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    bytes
}

fn record(bytes: &[u8; RECORD_LEN]) -> Option<Record> {
    let (key, rest) = bytes.split_first_chunk::<{ Digest::LEN }>()?;
    let ([place, state], rest) = rest.split_first_chunk::<2>()?;
    let (owner, rest) = rest.split_first_chunk::<{ Owner::LEN }>()?;
    let (fingerprint, rest) = rest.split_first_chunk::<{ Digest::LEN }>()?;
    let (lease_ends, rest) = rest.split_first_chunk::<8>()?;
    let (ends, rest) = rest.split_first_chunk::<8>()?;
    let (length, _) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    let known = state & KNOWN != 0;
    let state = match state & !KNOWN {
        1 => State::Running,
        2 => State::Done(length),
        3 => State::Unknown,
        4 => State::TooLarge,
        _ => return None,
    };
    Some(Record {
        key: Digest::from_bytes(*key),
        place: *place,
        state,
        owner: Owner(*owner),
        fingerprint: known.then_some(Digest::from_bytes(*fingerprint)),
        lease_ends: u64::from_le_bytes(*lease_ends),
        ends: u64::from_le_bytes(*ends),
        shadow: length == SHADOW && !matches!(state, State::Done(_)),
    })
}
