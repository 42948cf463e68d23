//! What the records promise, on any store.

use super::{done, hold};
use crate::records::machine::Wanted;
use crate::records::set::{self, WAYS};
use crate::records::{Claimed, Digest, Owner, Place, Record, Room, Settled, State, Stored, drive};
use crate::store::{Slot, Store, StoreError};

pub(super) const NOW: u64 = 1_000;
pub(super) const LEASE: u64 = 10;
pub(super) const TTL: u64 = 100;

/// When whatever was claimed at [`NOW`] is over.
pub(super) const OVER: u64 = NOW + TTL;

/// When its lease has ended.
const LOST: u64 = NOW + LEASE;

pub(super) const ROOM: Room = Room {
    records: 2,
    bytes: 1_000,
};

pub(super) fn wanted(key: u8, owner: u8) -> Wanted {
    Wanted {
        key: Digest::from_bytes([key; 32]),
        fingerprint: None,
        owner: Owner([owner; 16]),
        lease: LEASE,
        ttl: TTL,
        retries: false,
        ways: 2,
        shadow: false,
    }
}

pub(super) fn answer(owner: u8, length: usize) -> Result<Vec<u8>, String> {
    let stored = Stored {
        owner: Owner([owner; 16]),
        status: 201,
        headers: vec![(b"content-type", b"text/plain")],
        body: &vec![owner; length],
    };
    stored
        .write()
        .ok_or_else(|| "it cannot be written".to_owned())
}

fn ours<S: Store>(store: &mut S, wanted: &Wanted, now: u64) -> Result<Place, String> {
    match done(drive::claim(store, &ROOM, wanted, now))? {
        Claimed::Ours { place, .. } => Ok(place),
        other => Err(format!("not claimed: {other:?}")),
    }
}

fn taken<S: Store>(store: &mut S, wanted: &Wanted, now: u64) -> Result<Record, String> {
    match done(drive::claim(store, &ROOM, wanted, now))? {
        Claimed::Taken(record) => Ok(record),
        other => Err(format!("not taken: {other:?}")),
    }
}

pub(super) fn claimed_once<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    ours(store, &wanted(1, 1), NOW)?;
    let record = taken(store, &wanted(1, 2), NOW)?;
    hold(record.owner == Owner([1; 16]), "taken by another")?;
    let lost = taken(store, &wanted(1, 3), LOST)?;
    hold(
        lost.state_at(LOST) == State::Unknown,
        "not lost with its lease",
    )?;
    taken(store, &wanted(1, 3), OVER.saturating_sub(1))?;
    ours(store, &wanted(1, 3), OVER)?;
    // With the other rule, once the lease has ended: not before, also if its owner does not know.
    let store = &mut make();
    let again = |owner| Wanted {
        retries: true,
        ..wanted(1, owner)
    };
    let place = ours(store, &again(1), NOW)?;
    done(drive::settle(store, &place, Settled::Unknown))?;
    taken(store, &again(2), LOST.saturating_sub(1))?;
    ours(store, &again(2), LOST)?;
    hold(
        !done(drive::settle(store, &place, Settled::Released))?,
        "a late owner settled",
    )
}

pub(super) fn owner_settles<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let place = ours(store, &wanted(1, 1), NOW)?;
    let mut other = place;
    other.owner = Owner([2; 16]);
    let before = done(store.read(Slot::Records(place.set)))?;
    for settled in [
        Settled::Known(Digest::from_bytes([9; 32])),
        Settled::Done(1),
        Settled::TooLarge,
        Settled::Unknown,
        Settled::Released,
    ] {
        let settled = done(drive::settle(store, &other, settled))?;
        let after = done(store.read(Slot::Records(place.set)))?;
        hold(!settled && after == before, "another settled")?;
    }
    hold(
        done(drive::settle(store, &place, Settled::Released))?,
        "the owner did not",
    )?;
    ours(store, &wanted(1, 3), NOW)?;
    Ok(())
}

pub(super) fn answers<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let place = ours(store, &wanted(1, 1), NOW)?;
    let foreign = drive::store_answer(store, &ROOM, &place, &answer(2, 3)?);
    hold(
        foreign == Err(StoreError::Malformed),
        "another's answer was stored",
    )?;
    let bytes = answer(1, 3)?;
    hold(
        done(drive::store_answer(store, &ROOM, &place, &bytes))?,
        "not stored",
    )?;
    hold(
        !done(drive::store_answer(store, &ROOM, &place, &bytes))?,
        "stored twice",
    )?;
    let counted = u64::try_from(bytes.len()).unwrap_or(0);
    hold(done(drive::used(store))? == counted, "counted twice")?;
    let record = taken(store, &wanted(1, 2), NOW)?;
    let read = done(drive::answer(store, &ROOM, &record))?;
    hold(read == Some(bytes), "not byte equal")?;
    let other = Record {
        owner: Owner([2; 16]),
        ..record
    };
    let read = done(drive::answer(store, &ROOM, &other))?;
    hold(read.is_none(), "another execution's answer was given out")
}

pub(super) fn late_owner<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let late = ours(store, &wanted(1, 1), NOW)?;
    let place = ours(store, &wanted(1, 2), OVER)?;
    let stored = done(drive::store_answer(store, &ROOM, &late, &answer(1, 3)?))?;
    hold(!stored, "a late answer was stored")?;
    hold(done(drive::used(store))? == 0, "a late answer is counted")?;
    let bytes = answer(2, 4)?;
    hold(
        done(drive::store_answer(store, &ROOM, &place, &bytes))?,
        "the next owner's is not stored",
    )?;
    done(drive::store_answer(store, &ROOM, &late, &answer(1, 3)?))?;
    let record = taken(store, &wanted(1, 3), OVER)?;
    let read = done(drive::answer(store, &ROOM, &record))?;
    hold(read == Some(bytes), "a late answer destroyed the next")?;
    // One that nobody claimed again is late and still an answer.
    let store = &mut make();
    let late = ours(store, &wanted(1, 1), NOW)?;
    done(drive::settle(store, &late, Settled::Unknown))?;
    hold(
        done(drive::store_answer(store, &ROOM, &late, &answer(1, 3)?))?,
        "a late answer is none",
    )
}

pub(super) fn full_set<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    ours(store, &wanted(1, 1), NOW)?;
    ours(store, &wanted(2, 2), NOW.saturating_add(1))?;
    let third = done(drive::claim(
        store,
        &ROOM,
        &wanted(3, 3),
        OVER.saturating_sub(1),
    ))?;
    hold(third == Claimed::Full, "a live record made way")?;
    taken(store, &wanted(1, 4), OVER.saturating_sub(1))?;
    ours(store, &wanted(3, 3), OVER)?;
    taken(store, &wanted(2, 4), OVER)?;
    // One record alone, and one that is claimed again in its own place.
    let store = &mut make();
    let one = Wanted {
        retries: true,
        ways: 1,
        ..wanted(1, 1)
    };
    ours(store, &one, NOW)?;
    ours(
        store,
        &Wanted {
            owner: Owner([2; 16]),
            ..one
        },
        LOST,
    )?;
    // More than a set can hold is not written.
    let store = &mut make();
    for key in 0..=WAYS {
        let wide = Wanted {
            ways: u8::MAX,
            ..wanted(key, key)
        };
        let claimed = done(drive::claim(store, &ROOM, &wide, NOW))?;
        hold(
            (claimed == Claimed::Full) == (key == WAYS),
            "more records than a set holds",
        )?;
    }
    Ok(())
}

pub(super) fn room<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let place = ours(store, &wanted(1, 1), NOW)?;
    let large = answer(1, 1_000)?;
    hold(
        done(drive::store_answer(store, &ROOM, &place, &large))?,
        "not settled",
    )?;
    let record = taken(store, &wanted(1, 2), NOW)?;
    hold(
        record.state == State::TooLarge,
        "it is not said to be too large",
    )?;
    hold(
        done(drive::used(store))? == 0,
        "what is not stored is counted",
    )?;
    // Filled to the last byte: no room for another claim, until the record that fills it is over.
    let place = ours(store, &wanted(2, 3), NOW)?;
    let frame = answer(3, 0)?.len();
    let filling = answer(3, 1_000_usize.saturating_sub(frame))?;
    hold(
        done(drive::store_answer(store, &ROOM, &place, &filling))?,
        "it does not fit",
    )?;
    hold(done(drive::used(store))? == ROOM.bytes, "it is not full")?;
    taken(store, &wanted(2, 4), NOW)?;
    let other = done(drive::claim(store, &ROOM, &wanted(3, 4), NOW))?;
    hold(other == Claimed::Full, "claimed without room")?;
    ours(store, &wanted(2, 5), OVER)?;
    hold(done(drive::used(store))? == 0, "room was not given back")
}

pub(super) fn put_back<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let again = |owner| Wanted {
        retries: true,
        ..wanted(1, owner)
    };
    let (one, other) = (Digest::from_bytes([7; 32]), Digest::from_bytes([8; 32]));
    let place = ours(store, &again(1), NOW)?;
    done(drive::settle(store, &place, Settled::Known(one)))?;
    for owner in [2, 3] {
        let claimed = done(drive::claim(store, &ROOM, &again(owner), LOST))?;
        let Claimed::Ours { place, known } = claimed else {
            return Err(format!("not claimed again: {claimed:?}"));
        };
        hold(
            known == Some(one),
            "what the first request was is forgotten",
        )?;
        let written = done(drive::settle(store, &place, Settled::Known(other)))?;
        hold(!written, "another request took the place of the first")?;
        hold(
            done(drive::settle(store, &place, Settled::Released))?,
            "not given back",
        )?;
    }
    Ok(())
}

pub(super) fn malformed<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    for bytes in [&b"\x00"[..], b"\x02", b"\x01\x00", b"nonsense"] {
        let store = &mut make();
        let place = ours(store, &wanted(1, 1), NOW)?;
        let slot = Slot::Records(place.set);
        let (_, version) = done(store.read(slot))?;
        done(store.swap(slot, version, bytes))?;
        let claimed = drive::claim(store, &ROOM, &wanted(1, 2), NOW).map(|_| ());
        let found = drive::find(store, &ROOM, &place.key, NOW).map(|_| ());
        let settled = drive::settle(store, &place, Settled::Done(1)).map(|_| ());
        let swept = drive::sweep(store, place.set, NOW);
        let all = [claimed, found, settled, swept];
        hold(
            all == [Err(StoreError::Malformed); 4],
            "something was made of them",
        )?;
        let (after, _) = done(store.read(slot))?;
        hold(after == bytes, "they were written over")?;
    }
    Ok(())
}

pub(super) fn sweeps<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let place = ours(store, &wanted(1, 1), NOW)?;
    done(drive::store_answer(store, &ROOM, &place, &answer(1, 3)?))?;
    let before = done(store.read(Slot::Records(place.set)))?;
    done(drive::sweep(store, place.set, OVER.saturating_sub(1)))?;
    let after = done(store.read(Slot::Records(place.set)))?;
    hold(before == after, "what is live was swept")?;
    done(drive::sweep(store, place.set, OVER))?;
    let (records, _) = done(store.read(Slot::Records(place.set)))?;
    let (answer, _) = done(store.read(Slot::Answer(place.set, place.place)))?;
    let empty = set::read(&records).is_ok_and(|records| records.is_empty());
    let gone = empty && answer.is_empty() && done(drive::used(store))? == 0;
    hold(gone, "what is over is still there")
}
