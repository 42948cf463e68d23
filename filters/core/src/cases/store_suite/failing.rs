//! The store fails: every call in turn, before it was done and after it was done.

use super::records::{NOW, OVER, ROOM, answer, wanted};
use super::{done, hold};
use crate::key::Secret;
use crate::records::{Claimed, Digest, Settled, State, drive, set};
use crate::store::{Slot, Store, StoreError, Swap, Version};

/// More calls than a story makes.
const CALLS: u32 = 64;

/// A store of which one call fails.
struct Failing<'a, S> {
    store: &'a mut S,
    /// How many calls there are before it.
    left: Option<u32>,
    /// Whether the call that fails is done all the same: the answer was lost, not the question.
    done: bool,
}

impl<S> Failing<'_, S> {
    fn fails(&mut self) -> bool {
        let fails = self.left == Some(0);
        self.left = self.left.and_then(|left| left.checked_sub(1));
        fails
    }
}

impl<S: Store> Store for Failing<'_, S> {
    fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        if self.fails() {
            return Err(StoreError::Unavailable);
        }
        self.store.read(slot)
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        if self.fails() {
            if self.done {
                self.store.swap(slot, version, bytes)?;
            }
            return Err(StoreError::Unavailable);
        }
        self.store.swap(slot, version, bytes)
    }
}

/// What came of a request.
#[derive(PartialEq, Eq)]
enum Came {
    /// It was executed, and so never again.
    Executed,
    /// It was not.
    Refused,
}

pub(super) fn every_call<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    for written in [false, true] {
        let mut failed = 0;
        for call in 0..CALLS {
            let store = &mut make();
            let (came, over) = story(store, call, written)?;
            let within = |wrong| format!("call {call} (written: {written}): {wrong}");
            after(store, &came).map_err(within)?;
            if over {
                break;
            }
            failed = call;
        }
        hold(failed > 10, "the calls of the story did not fail")?;
        hold(failed.saturating_add(1) < CALLS, "the story has more calls")?;
    }
    Ok(())
}

/// A key whose record is over is claimed and answered while call number `call` fails; also whether the story ended before it.
fn story<S: Store>(
    store: &mut S,
    call: u32,
    done_all_the_same: bool,
) -> Result<(Came, bool), String> {
    let before = claim(store, 1, 0)?;
    if let Claimed::Ours { place, .. } = before {
        done(drive::store_answer(store, &ROOM, &place, &answer(1, 5)?))?;
    }
    let mut failing = Failing {
        store,
        left: Some(call),
        done: done_all_the_same,
    };
    let claimed = drive::claim(&mut failing, &ROOM, &wanted(1, 2), OVER);
    let Ok(Claimed::Ours { place, .. }) = claimed else {
        return Ok((Came::Refused, failing.left.is_some()));
    };
    let known = Settled::Known(Digest::from_bytes([3; 32]));
    if drive::settle(&mut failing, &place, known) != Ok(true) {
        // It never reached the origin; whether that can be noted, the same store says.
        let _ = drive::settle(&mut failing, &place, Settled::Released);
        return Ok((Came::Refused, failing.left.is_some()));
    }
    let _ = drive::store_answer(&mut failing, &ROOM, &place, &answer(2, 7)?);
    Ok((Came::Executed, failing.left.is_some()))
}

fn claim<S: Store>(store: &mut S, owner: u8, after: u64) -> Result<Claimed, String> {
    let now = NOW.saturating_add(after);
    done(drive::claim(store, &ROOM, &wanted(1, owner), now))
}

/// The store works again.
fn after<S: Store>(store: &mut S, came: &Came) -> Result<(), String> {
    let set = drive::set_of(store, &ROOM, &wanted(1, 0).key);
    let (records, _) = done(store.read(Slot::Records(set)))?;
    let records = set::read(&records).map_err(|_| "the set is malformed")?;
    let mut stored = 0_u64;
    for place in 0..2 {
        let (bytes, _) = done(store.read(Slot::Answer(set, place)))?;
        if bytes.len() > 16 {
            stored = stored.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
    }
    hold(
        done(drive::used(store))? >= stored,
        "more is stored than is counted",
    )?;
    for record in records {
        if matches!(record.state, State::Done(_)) && !record.is_over(OVER) {
            let answer = done(drive::answer(store, &ROOM, &record))?;
            hold(answer.is_some(), "a live record has no answer")?;
        }
    }
    let second = claim(store, 4, OVER.saturating_sub(NOW))?;
    let ours = matches!(second, Claimed::Ours { .. });
    hold(
        !(ours && *came == Came::Executed),
        "a key was executed twice",
    )?;
    let last = claim(store, 5, OVER)?;
    hold(
        matches!(last, Claimed::Ours { .. }),
        "a key is wedged beyond its end",
    )
}
