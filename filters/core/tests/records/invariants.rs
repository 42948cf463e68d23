//! What holds in every state and at every step, whatever was scheduled, whoever crashed.

use std::collections::HashSet;
use std::rc::Rc;

use tidegate_core::records::machine::Wanted;
use tidegate_core::records::{Claimed, Owner, Record, Room, State, Stored, drive, set};
use tidegate_core::store::{MemoryStore, Slot, Store, StoreError};

use crate::explore::Setup;
use crate::worker::{Event, LEASE, Rules, TTL, answer_of, key, owner};
use crate::world::{SLOTS, Value, Values};

/// When everything is over.
const FAR: u64 = 1_000;

fn hold(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// The states that were looked at: whose values and time are the same, need it once.
#[derive(Default)]
pub(crate) struct Seen {
    at: HashSet<([Value; SLOTS], u64)>,
    after: HashSet<[Value; SLOTS]>,
}

impl Seen {
    pub(crate) fn look(
        &mut self,
        shared: &[Value; SLOTS],
        now: u64,
        values: &Values,
        setup: &Setup,
    ) -> Result<(), String> {
        if self.at.insert((*shared, now)) {
            let bytes = shared.map(|value| values.bytes(value));
            stands(&bytes, now, &setup.rules)?;
            if self.after.insert(*shared) {
                not_wedged(&bytes, &setup.rules)?;
            }
        }
        Ok(())
    }
}

/// Bytes that count against the room: those of an answer that was written, whole or not.
fn counted(bytes: &[u8]) -> u64 {
    if bytes.len() > Owner::LEN {
        bytes.len() as u64
    } else {
        0
    }
}

fn room_of(bytes: &[u8]) -> u64 {
    <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes)
}

/// What stands in the store.
fn stands(bytes: &[&[u8]; SLOTS], now: u64, rules: &Rules) -> Result<(), String> {
    let [records, room, answers @ ..] = bytes;
    let records = set::read(records).map_err(|_| "the set is malformed")?;
    let within = records.len() <= usize::from(rules.ways);
    hold(within, "bounded: a set has more records than it holds")?;
    for (index, record) in records.iter().enumerate() {
        let mut others = records.iter().skip(index + 1);
        let apart = others.all(|other| other.place != record.place && other.key != record.key);
        hold(apart, "two records have one key or one place")?;
        if !matches!(record.state, State::Done(_)) || record.is_over(now) {
            continue;
        }
        let whole = answers[usize::from(record.place)] == answer_of(record.owner);
        hold(whole, "a live record's answer is not there, or not whole")?;
    }
    let stored: u64 = answers.iter().map(|bytes| counted(bytes)).sum();
    let used = room_of(room);
    hold(used >= stored, "more is stored than is counted")?;
    hold(used <= rules.room, "more is counted than there is room")
}

/// Whatever stands there: once all is over, every key can be claimed, if crashes left room for an answer.
fn not_wedged(bytes: &[&[u8]; SLOTS], rules: &Rules) -> Result<(), String> {
    for number in 0..2 {
        let mut store = copy(bytes);
        let room = Room {
            records: u32::from(rules.ways),
            bytes: rules.room,
        };
        let wanted = Wanted {
            key: key(number),
            fingerprint: None,
            owner: Owner([0xff; 16]),
            lease: LEASE,
            ttl: TTL,
            retries: rules.retries,
            ways: rules.ways,
            shadow: false,
        };
        let claimed = drive::claim(&mut store, &room, &wanted, FAR);
        let used = drive::used(&mut store).unwrap();
        let claimable = match claimed {
            Ok(Claimed::Ours { .. }) => true,
            Ok(Claimed::Full) => used >= rules.room,
            _ => false,
        };
        hold(claimable, "a key is wedged beyond the end of its record")?;
    }
    Ok(())
}

fn copy(bytes: &[&[u8]; SLOTS]) -> MemoryStore {
    let mut store = MemoryStore::new();
    for (index, bytes) in bytes.iter().enumerate() {
        let slot = match index {
            0 => Slot::Records(0),
            1 => Slot::Room,
            place => Slot::Answer(0, u8::try_from(place - 2).unwrap()),
        };
        let (_, version) = store.read(slot).unwrap();
        store.swap(slot, version, bytes).unwrap();
    }
    store
}

/// All workers came to their end and no call failed: the count is exact, and nothing is left once all is over.
pub(crate) fn at_rest(shared: &[Value; SLOTS], values: &Values) -> Result<(), String> {
    let bytes = shared.map(|value| values.bytes(value));
    let [records, room, answers @ ..] = bytes;
    let records = set::read(records).map_err(|_| "the set is malformed")?;
    let done = records.iter().map(|record| match record.state {
        State::Done(length) => u64::from(length),
        _ => 0,
    });
    let (used, done) = (room_of(room), done.sum::<u64>());
    hold(
        used == done,
        "at rest, what is counted is not what the records say",
    )?;
    let stored: u64 = answers.iter().map(|bytes| counted(bytes)).sum();
    hold(
        used == stored,
        "at rest, what is counted is not what is stored",
    )?;
    let mut store = copy(&bytes);
    drive::sweep(&mut store, 0, FAR).map_err(|error| format!("{error:?}"))?;
    let used = drive::used(&mut store).unwrap();
    hold(used == 0, "all is over and swept, and room is still taken")
}

/// What a writer made of the set.
pub(crate) fn changed(
    old: &[u8],
    new: &[u8],
    writer: Owner,
    now: u64,
    rules: &Rules,
) -> Result<(), String> {
    if old == new {
        return Ok(());
    }
    let old = set::read(old).map_err(|_| "the set is malformed")?;
    let new = set::read(new).map_err(|_| "the set is malformed")?;
    for record in &old {
        let then = new.iter().find(|then| then.key == record.key);
        if then == Some(record) || record.owner == writer || record.is_over(now) {
            continue;
        }
        let Some(then) = then else {
            return Err("a live record was evicted".to_owned());
        };
        // Somebody else's record may only be claimed again.
        let again = rules.retries && record.lease_ends <= now && open(record);
        let claimed = then.owner == writer && then.state == State::Running;
        hold(
            again && claimed,
            "somebody changed a record that is not theirs",
        )?;
    }
    let own = new
        .iter()
        .all(|then| then.owner == writer || old.contains(then));
    hold(own, "somebody wrote a record under another's name")
}

fn open(record: &Record) -> bool {
    matches!(record.state, State::Running | State::Unknown)
}

/// What a worker did, in the light of what all did so far.
pub(crate) fn happened(
    worker: usize,
    event: &Event,
    all: &[Rc<Vec<Event>>],
    now: u64,
    setup: &Setup,
) -> Result<(), String> {
    match event {
        Event::Began { key, .. } => {
            for (index, other) in all.iter().enumerate() {
                if index != worker
                    && began(other).is_some_and(|(theirs, _)| theirs == *key)
                    && !(may_end(other, now, setup) || may_end(&all[worker], now, setup))
                {
                    return Err("two executions of one key".to_owned());
                }
            }
            Ok(())
        }
        Event::Sent { body } => {
            let (key, _) = began(&all[worker]).unwrap();
            let other = |other: &&Rc<Vec<Event>>| {
                let sent = other
                    .iter()
                    .any(|event| matches!(event, Event::Sent { body: theirs } if theirs != body));
                let alive = |(theirs, then): (u8, u64)| theirs == key && now < then + TTL;
                sent && began(other).is_some_and(alive) && !released(other)
            };
            hold(
                !all.iter().any(|they| other(&they)),
                "two different requests went out under one key",
            )
        }
        Event::Replayed(record, bytes) => {
            let from = (0..all.len()).find(|from| owner(*from) == record.owner);
            let from = from.ok_or("a replay of nobody's answer")?;
            let same =
                |of: usize| began(&all[of]).is_some_and(|(theirs, _)| record.key == key(theirs));
            hold(same(from), "a replay of another key's answer")?;
            hold(
                *bytes == answer_of(record.owner) && Stored::read(bytes).is_some(),
                "a replay of another answer",
            )
        }
        Event::Gone(record) => hold(record.is_over(now), "a live record's answer was gone"),
        // Only one who was held up for a whole lease may be told that nothing came of it.
        Event::Failed { error, since } if setup.failures == 0 => hold(
            *error == StoreError::Contended && since + LEASE <= now,
            "a call failed in a store that does not",
        ),
        Event::Full => hold(
            usize::from(setup.rules.ways) < setup.jobs.len() || setup.rules.room < 1_000,
            "there was room, and it was said to be full",
        ),
        Event::Failed { .. } | Event::Taken(_) | Event::Stored(_) | Event::Releases => Ok(()),
    }
}

fn began(events: &[Event]) -> Option<(u8, u64)> {
    events.iter().find_map(|event| match event {
        Event::Began { key, now } => Some((*key, *now)),
        _ => None,
    })
}

fn released(events: &[Event]) -> bool {
    events.contains(&Event::Releases)
}

/// Whether somebody may have claimed the key of this execution since. Whether it was so when they did, [`changed`] looks at.
fn may_end(earlier: &[Event], now: u64, setup: &Setup) -> bool {
    let Some((_, then)) = began(earlier) else {
        return true;
    };
    let lost = setup.rules.retries && then + LEASE <= now;
    then + TTL <= now || lost || released(earlier)
}
