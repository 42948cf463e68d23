//! What a worker remembers of refusals: a flood is refused without asking the store, and the answers are
//! those that the store would have given.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::HashMap;

use tidegate_core::cases::CaseFacts;
use tidegate_core::denial::Denial;
use tidegate_core::engine::{FLOOD, MAX_REMEMBERED, Memory, Remembered, decide};
use tidegate_core::key::{Key, Secret};
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::store::{MemoryStore, Slot, Store, StoreError, Swap, Version};

const NOW: u64 = 1_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

#[derive(Default)]
struct All(HashMap<Key, Remembered>);

impl Memory for All {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn get(&mut self, key: &Key) -> Option<&Remembered> {
        self.0.get(key)
    }
    fn put(&mut self, key: Key, refusal: Remembered) {
        self.0.insert(key, refusal);
    }
}

/// Counts how often it is asked, and how often it is written to.
#[derive(Default)]
struct Counted(MemoryStore, u32, u32);

impl Store for Counted {
    fn secret(&self) -> Secret {
        self.0.secret()
    }
    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.1 += 1;
        self.0.read(slot)
    }
    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        self.2 += 1;
        self.0.swap(slot, version, bytes)
    }
}

fn policy(rate: &str) -> Policy {
    let document = format!(
        r#"{{"policy": "m", "version": "1", "identity": {{"account": [{{"header": "x-account"}}]}},
            "limits": {{"account": {{"per": ["account"], "rate": "{rate}", "burst": 2}}}}, "always": ["account"],
            "routes": [{{"name": "two", "match": {{"path": "/two"}}, "cost": 2}}]}}"#
    );
    Policy::parse(document.as_bytes()).unwrap()
}

/// One worker with what it remembers.
#[derive(Default)]
struct Worker {
    store: Counted,
    memory: All,
}

/// What a request is told: how long to wait (0: not at all), and whether from memory.
type Told = (u64, bool);

impl Worker {
    fn ask(&mut self, policy: &Policy, path: &str, account: &str, now: u64) -> Told {
        let facts = CaseFacts::default();
        let headers: &[(&[u8], &[u8])] = &[(b"x-account", account.as_bytes())];
        let request = Request {
            method: b"GET",
            path: path.as_bytes(),
            authority: b"",
            headers,
            facts: &facts,
        };
        let decision = decide(policy, &request, &mut self.store, &mut self.memory, now);
        let wait = match decision.denial {
            Some(Denial::QuotaExceeded { wait }) => wait,
            _ => 0,
        };
        (wait, decision.counts.remembered)
    }

    /// A worker that has refused `path` to account `a` as often as makes a flood.
    fn flooded(policy: &Policy, path: &str) -> Self {
        let mut worker = Self::default();
        while worker.ask(policy, path, "a", NOW).0 == 0 {}
        for _ in 1..FLOOD {
            assert!(!worker.ask(policy, path, "a", NOW).1, "no flood yet");
        }
        worker
    }
}

#[test]
fn a_flood_is_refused_without_asking_the_store_and_told_the_right_wait() {
    let policy = policy("12/min");
    let mut worker = Worker::flooded(&policy, "/");
    let (asked, written) = (worker.store.1, worker.store.2);
    for later in [0, 1, SECOND / 2, SECOND - 1] {
        let told = worker.ask(&policy, "/", "a", NOW + later);
        assert_eq!(told, (5 * SECOND - later, true));
    }
    assert_eq!(worker.store.1, asked);
    // After a second it asks again, and it takes another flood to be told from memory.
    for _ in 0..FLOOD {
        let told = worker.ask(&policy, "/", "a", NOW + MAX_REMEMBERED);
        assert_eq!(told, (4 * SECOND, false));
    }
    assert!(worker.ask(&policy, "/", "a", NOW + MAX_REMEMBERED).1);
    assert_eq!(worker.store.2, written, "a refusal writes nothing");
}

#[test]
fn what_is_remembered_ends_when_the_wait_does() {
    let policy = policy("10/s");
    let mut worker = Worker::flooded(&policy, "/");
    let end = NOW + SECOND / 10;
    assert_eq!(worker.ask(&policy, "/", "a", end - 1), (1, true));
    assert_eq!(worker.ask(&policy, "/", "a", end), (0, false));
}

#[test]
fn another_caller_another_cost_and_a_clock_set_back_are_not_the_same_refusal() {
    let policy = policy("12/min");
    let mut worker = Worker::default();
    worker.ask(&policy, "/", "a", NOW);
    for _ in 0..FLOOD {
        assert!(worker.ask(&policy, "/two", "a", NOW).0 > 0);
    }
    assert!(worker.ask(&policy, "/two", "a", NOW).1);
    assert_eq!(
        worker.ask(&policy, "/", "a", NOW),
        (0, false),
        "one unit is left"
    );
    assert_eq!(worker.ask(&policy, "/two", "b", NOW), (0, false));
    assert!(!worker.ask(&policy, "/two", "a", NOW - 1).1);
}

#[test]
fn the_flood_of_one_limit_is_not_the_refusal_of_another() {
    // Both have one bucket for each account, and a burst of one minute's worth: one capacity.
    let document = br#"{"policy": "m", "version": "1", "identity": {"account": [{"header": "x-account"}]},
        "limits": {"reads": {"per": ["account"], "rate": "60/min"}, "writes": {"per": ["account"], "rate": "60/min"}},
        "routes": [{"name": "r", "match": {"path": "/r"}, "limits": ["reads"]},
                   {"name": "w", "match": {"path": "/w"}, "limits": ["writes"]}]}"#;
    let policy = Policy::parse(document).unwrap();
    let mut worker = Worker::flooded(&policy, "/w");
    assert!(worker.ask(&policy, "/w", "a", NOW).1);
    assert_eq!(worker.ask(&policy, "/r", "a", NOW), (0, false));
}

/// B7: who is refused now and then learns of every limit that refuses by then.
#[test]
fn b7_without_a_flood_nothing_is_told_from_memory() {
    let policy = policy("12/min");
    let mut worker = Worker::default();
    for now in (0..40).map(|step| NOW + step * SECOND) {
        assert!(!worker.ask(&policy, "/", "a", now).1);
        assert!(!worker.ask(&policy, "/", "a", now).1);
    }
}
