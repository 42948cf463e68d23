//! Reads and swaps what all workers know of refused scopes, on a store that answers at once.

use super::entry::{Entry, Id};
use super::line::Line;
use super::notice::{Due, Kind, Outcome};
use super::recent::{Example, Recent, Scope};
use super::{SETS, set, set_of};
use crate::policy::{Notify, Policy};
use crate::quota::NANOS_PER_SEC;
use crate::store::{MAX_SWAPS, Slot, Store, StoreError, Swap};

/// How many lines one worker logs at once, at most. What is not logged now is logged later, with its count.
pub const MOST_LINES: usize = 16;

/// How many events one worker sends at once, at most.
const MOST_EVENTS: usize = 16;

/// How often somebody looks through all sets, in nanoseconds.
const LOOKED_EVERY: u64 = NANOS_PER_SEC;

/// An event that is to be sent: the attempt is the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// About which scope, as it is known now.
    pub entry: Entry,
    /// Which event.
    pub kind: Kind,
}

/// What came of looking through all sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Looked {
    /// What is to be logged.
    pub lines: Vec<Line>,
    /// What is to be sent.
    pub attempts: Vec<Attempt>,
    /// How many events were given up.
    pub given_up: u64,
    /// How many sets the store failed: they are looked through the next time.
    pub failed: u64,
}

/// What came of telling the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// What is to be logged.
    pub lines: Vec<Line>,
    /// How many refusals found no room.
    pub lost: u64,
    /// How many sets the store failed.
    pub failed: u64,
}

/// Tells the others what a worker has seen. What could not be told, since the store failed its set, stays where it is for the next
/// time.
pub fn tell<S: Store>(store: &mut S, policy: &Policy, recent: &mut Recent, now: u64) -> Told {
    let mut told = Told {
        lost: recent.take_lost(),
        ..Told::default()
    };
    let mut scopes: Vec<_> = recent.seen.keys().map(|s| (set_of(s.key), *s)).collect();
    scopes.sort_unstable_by_key(|(set, _)| *set);
    for together in scopes.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((set, _)) = together.first() else {
            continue;
        };
        let scopes = || together.iter().map(|(_, scope)| scope);
        let room = MOST_LINES.saturating_sub(told.lines.len());
        let changed = change(store, *set, |entries| {
            let mut lines = Vec::new();
            let mut lost: u64 = 0;
            for (scope, seen) in scopes().filter_map(|scope| recent.seen.get_key_value(scope)) {
                let id = id(policy, scope);
                let Some(entry) = set::entry(entries, id, seen) else {
                    lost = lost.saturating_add(seen.count);
                    continue;
                };
                let label = policy.label(seen.label);
                entry.add(seen, label, policy.pause());
                if lines.len() < room
                    && let Some(count) = entry.log(now)
                {
                    lines.push(Line {
                        entry: entry.clone(),
                        count,
                        example: seen.example.clone(),
                    });
                }
            }
            (true, (lines, lost))
        });
        let Ok((lines, lost)) = changed else {
            told.failed = told.failed.saturating_add(1);
            continue;
        };
        told.lines.extend(lines);
        told.lost = told.lost.saturating_add(lost);
        for scope in scopes() {
            recent.seen.remove(scope);
        }
    }
    told
}

fn id(policy: &Policy, scope: &Scope) -> Id {
    Id {
        rule: scope.rule(policy).to_owned(),
        shadow: scope.shadow,
        key: scope.key,
    }
}

/// Looks through all sets, if nobody has within the last second: for what is to be logged yet, and for events that are due.
///
/// `None`: somebody has.
///
/// # Errors
/// The store's, where it cannot be told whose turn it is.
pub fn look<S: Store>(
    store: &mut S,
    policy: &Policy,
    now: u64,
) -> Result<Option<Looked>, StoreError> {
    if !takes_turn(store, now)? {
        return Ok(None);
    }
    let mut looked = Looked::default();
    for set in 0..SETS {
        let lines = MOST_LINES.saturating_sub(looked.lines.len());
        let events = MOST_EVENTS.saturating_sub(looked.attempts.len());
        let changed = change(store, set, |entries| {
            let before = entries.clone();
            let mut looked = Looked::default();
            for entry in &mut *entries {
                if looked.lines.len() < lines
                    && let Some(count) = entry.log(now)
                {
                    looked.lines.push(Line {
                        entry: entry.clone(),
                        count,
                        example: Example::default(),
                    });
                }
                let Some(rule) = &policy.notify else {
                    entry.tell_nobody(policy.pause(), now);
                    continue;
                };
                if looked.attempts.len() >= events {
                    continue;
                }
                match entry.tell(rule, now) {
                    Some(Due::Send(kind)) => looked.attempts.push(Attempt {
                        entry: entry.clone(),
                        kind,
                    }),
                    Some(Due::GivenUp) => looked.given_up = looked.given_up.saturating_add(1),
                    None => {}
                }
            }
            (*entries != before, looked)
        });
        let Ok(found) = changed else {
            looked.failed = looked.failed.saturating_add(1);
            continue;
        };
        looked.lines.extend(found.lines);
        looked.attempts.extend(found.attempts);
        looked.given_up = looked.given_up.saturating_add(found.given_up);
    }
    Ok(Some(looked))
}

/// Notes what became of an attempt. `jitter` is any number.
///
/// # Errors
/// The store's. The attempt counts as failed when its lease ends.
pub fn settle<S: Store>(
    store: &mut S,
    rule: &Notify,
    attempt: &Attempt,
    delivered: bool,
    now: u64,
    jitter: u64,
) -> Result<Outcome, StoreError> {
    let Attempt { entry, kind } = attempt;
    change(store, set_of(entry.id.key), |entries| {
        let found = entries.iter_mut().find(|known| known.id == entry.id);
        let attempts = entry.notice.attempts;
        let outcome = found.map_or(Outcome::Overtaken, |found| {
            found.told(*kind, attempts, delivered, rule, now, jitter)
        });
        (outcome != Outcome::Overtaken, outcome)
    })
}

/// Every scope that is known.
///
/// # Errors
/// The store's.
pub fn all<S: Store>(store: &mut S) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for set in 0..SETS {
        entries.extend(set::read(&store.peek(Slot::Refused(set))?));
    }
    Ok(entries)
}

/// Whether it is ours to look through all sets.
fn takes_turn<S: Store>(store: &mut S, now: u64) -> Result<bool, StoreError> {
    let (bytes, version) = store.read(Slot::RefusedTurn)?;
    let last = <[u8; 8]>::try_from(bytes.as_slice()).ok();
    let recently =
        last.is_some_and(|last| now.saturating_sub(u64::from_le_bytes(last)) < LOOKED_EVERY);
    if recently {
        return Ok(false);
    }
    Ok(store.swap(Slot::RefusedTurn, version, &now.to_le_bytes())? == Swap::Done)
}

/// Changes a set, if `make` says so; it is called again as often as others were faster.
fn change<S: Store, R>(
    store: &mut S,
    set: u32,
    mut make: impl FnMut(&mut Vec<Entry>) -> (bool, R),
) -> Result<R, StoreError> {
    let slot = Slot::Refused(set);
    for _ in 0..MAX_SWAPS {
        let (bytes, version) = store.read(slot)?;
        let mut entries = set::read(&bytes);
        let (changed, result) = make(&mut entries);
        if !changed || store.swap(slot, version, &set::write(&entries))? == Swap::Done {
            return Ok(result);
        }
    }
    Err(StoreError::Contended)
}
