//! Stores that fail, that are full, and that somebody else writes to at the same time.

use serde_json::{Value, json};
use tidegate_core::denial::Denial;
use tidegate_core::idempotency::{Capture, Outcome, Turn};
use tidegate_core::key::Secret;
use tidegate_core::policy::Policy;
use tidegate_core::records::drive;
use tidegate_core::store::{MemoryStore, Slot, Store, StoreError, Swap, Version};

use crate::world::{Ask, BURST, Got, SECOND, World, decided, policy, told};

/// A store that counts what it is asked and fails at one call, or from one call on.
#[derive(Default, Clone)]
pub(crate) struct Watched {
    inner: MemoryStore,
    pub(crate) calls: u32,
    /// The call that fails, from 1; 0: none does.
    fails_at: u32,
    /// All later ones fail too.
    for_good: bool,
}

impl Watched {
    fn call(&mut self) -> Result<(), StoreError> {
        self.calls += 1;
        let fails = self.fails_at > 0
            && (self.calls == self.fails_at || self.for_good && self.calls > self.fails_at);
        if fails {
            Err(StoreError::Unavailable)
        } else {
            Ok(())
        }
    }
}

impl Store for Watched {
    fn secret(&self) -> Secret {
        self.inner.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.call()?;
        self.inner.read(slot)
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        self.call()?;
        self.inner.swap(slot, version, bytes)
    }
}

/// Sends one request whole on a store that fails at its `call`.
fn failing(store_error: &str, call: u32, for_good: bool) -> (World<Watched>, Got) {
    let policy = policy(json!({"key": "required"}), |document| {
        document["store_error"] = json!(store_error);
    });
    let store = Watched {
        fails_at: call,
        for_good,
        ..Watched::default()
    };
    let mut world = World::on(policy, store);
    let got = world.send(&Ask::post("k", "{}"));
    (world, got)
}

#[test]
fn a40_a_store_that_fails_at_any_call_is_a_503_and_runs_nothing() {
    let calls = failing("reject", 0, false).0.store.calls;
    assert!(calls > 5);
    for for_good in [false, true] {
        for call in 1..=calls {
            let (world, got) = failing("reject", call, for_good);
            match got {
                Got::Refused(denial) => {
                    assert_eq!(denial, Denial::StoreUnavailable, "{call}");
                    assert_eq!(told(&world.policy, &denial).status, 503);
                }
                // A failure that costs nothing but the room that it counts.
                Got::Ran(_) => assert!(!for_good || call == calls, "{call}"),
                other => panic!("{call}: {other:?}"),
            }
        }
    }
}

#[test]
fn a21_a40_what_a_store_that_fails_for_once_refuses_runs_when_it_comes_again() {
    let calls = failing("reject", 0, false).0.store.calls;
    for call in 1..=calls {
        let (mut world, got) = failing("reject", call, false);
        if matches!(got, Got::Refused(_)) {
            let again = world.send(&Ask::post("k", "{}"));
            assert!(matches!(&again, Got::Ran(_)), "{call}: {again:?}");
        }
    }
}

#[test]
fn a40_with_pass_a_store_that_fails_stops_nobody() {
    let calls = failing("pass", 0, false).0.store.calls;
    for call in 1..=calls {
        let (_, got) = failing("pass", call, true);
        let goes = matches!(got, Got::Went | Got::Ran(_));
        // What was claimed and cannot be settled may run elsewhere by now.
        let claimed = got == Got::Refused(Denial::StoreUnavailable);
        assert!(goes || claimed, "{call}: {got:?}");
    }
    let (_, got) = failing("pass", 1, true);
    assert_eq!(got, Got::Went);
}

#[test]
fn a40_what_fails_is_counted() {
    let (world, _) = failing("reject", 3, true);
    assert!(world.last.unwrap().1.store_errors > 0);
}

/// A policy with room for one record.
fn small(store_full: &str) -> Policy {
    policy(json!({"key": "required"}), |document| {
        document["capacity"] = json!({"records": 1});
        document["store_full"] = json!(store_full);
    })
}

#[test]
fn a_full_store_refuses_and_charges_nothing() {
    let mut world = World::new(small("reject"));
    world.run(&Ask::post("k", "{}"), 200, b"first");
    for fingerprint_later in [true, false] {
        let ask = if fingerprint_later {
            Ask::post("l", "{}")
        } else {
            Ask::bare("/charges/new").with("idempotency-key", "l")
        };
        let denial = world.send(&ask).refused();
        assert_eq!(denial, Denial::StoreUnavailable);
        assert_eq!(told(&world.policy, &denial).status, 503);
        assert_eq!(world.last.clone().unwrap().1.store_full, 1);
    }
    assert_eq!(world.left(), BURST - 1);
    // What is there still answers.
    world.send(&Ask::post("k", "{}")).replayed();
}

#[test]
fn a_full_store_that_passes_records_nothing() {
    let mut world = World::new(small("pass"));
    world.run(&Ask::post("k", "{}"), 200, b"first");
    for _ in 0..2 {
        assert_eq!(world.send(&Ask::post("l", "{}")), Got::Went);
        assert_eq!(world.last.clone().unwrap().1.store_full, 1);
    }
    assert_eq!(world.left(), BURST - 3);
}

#[test]
fn a33_an_answer_for_which_there_is_no_room_is_a_tombstone() {
    let mut world = World::new(policy(json!({"key": "required"}), |document| {
        document["capacity"] = json!({"bytes": "200B"});
    }));
    world.run(&Ask::post("k", "{}"), 200, &[b'x'; 100]);
    world.run(&Ask::post("l", "{}"), 200, &[b'x'; 100]);
    world.send(&Ask::post("k", "{}")).replayed();
    let denial = world.send(&Ask::post("l", "{}")).refused();
    assert_eq!(denial, Denial::ResponseNotStored);
}

/// A store in which somebody else sends the same request just before the first claim of a record.
struct Raced {
    inner: MemoryStore,
    policy: Policy,
    now: u64,
    rival: Option<Ask>,
    /// The rival is answered by then, too.
    answered: bool,
}

impl Store for Raced {
    fn secret(&self) -> Secret {
        self.inner.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.inner.read(slot)
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        if matches!(slot, Slot::Records(_))
            && let Some(rival) = self.rival.take()
        {
            let decision = decided(&self.policy, &mut self.inner, self.now, &rival, 1000);
            assert_eq!(decision.denial, None);
            if self.answered {
                let Turn::Run(running) = decision.turn else {
                    panic!("the rival does not run: {:?}", decision.turn);
                };
                let mut capture = Capture::new(201, &[], 100);
                capture.push(b"the rival's");
                let answer = capture.stored(running.place.owner).unwrap();
                let (room, place) = (&self.policy.room, &running.place);
                drive::store_answer(&mut self.inner, room, place, &answer).unwrap();
            }
        }
        self.inner.swap(slot, version, bytes)
    }
}

fn raced(rule: &Value, ask: &Ask) -> (World<Raced>, Got) {
    let policy = policy(rule.clone(), |_| {});
    let store = Raced {
        inner: MemoryStore::new(),
        policy: policy.clone(),
        now: 0,
        rival: Some(ask.clone()),
        answered: false,
    };
    let mut world = World::on(policy, store);
    world.store.now = world.now;
    let got = world.send(ask);
    assert!(world.store.rival.is_none(), "nobody else claimed");
    (world, got)
}

#[test]
fn a15_a16_who_loses_the_race_is_told_to_come_back_and_not_charged() {
    for (fingerprint, body) in [("body", true), ("body", false), ("key-only", true)] {
        let ask = if body {
            Ask::post("k", "{}")
        } else {
            Ask::bare("/charges/new").with("idempotency-key", "k")
        };
        let rule = json!({"key": "required", "fingerprint": fingerprint});
        let (world, got) = raced(&rule, &ask);
        assert_eq!(got.refused(), Denial::RequestInProgress);
        // The rival is.
        let mut after = World::on(world.policy, world.store.inner);
        after.now = world.now;
        assert_eq!(after.left(), BURST - 1);
    }
}

/// Who finds a claim that is free again, because its lease ended or because it was released, and is overtaken before its own
/// claim, finds what was stored in between, and does not run.
#[test]
fn a16_a19_who_is_overtaken_at_a_free_claim_gets_what_was_stored() {
    let rule = json!({"key": "required", "lease": "30s", "unknown": "retry"});
    let ask = Ask::bare("/charges/new").with("idempotency-key", "k");
    for before in ["nothing", "expired", "released"] {
        let mut world = World::of(rule.clone());
        if before != "nothing" {
            let first = world.send(&ask).ran();
            if before == "released" {
                world.end(&first, Outcome::NotSent);
            }
            world.now += 30 * SECOND;
        }
        let store = Raced {
            inner: world.store,
            policy: world.policy.clone(),
            now: world.now,
            rival: Some(ask.clone()),
            answered: true,
        };
        let mut raced = World::on(world.policy, store);
        raced.now = world.now;
        let replay = raced.send(&ask).replayed();
        assert!(raced.store.rival.is_none(), "{before}: nobody overtook");
        assert_eq!(
            (replay.status, &*replay.body),
            (201, &b"the rival's"[..]),
            "{before}"
        );
    }
}
