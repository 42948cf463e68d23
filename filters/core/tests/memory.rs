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
use tidegate_core::engine::{Decision, MAX_REMEMBERED, Memory, Remembered, decide};
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

fn ask<'p>(
    policy: &'p Policy,
    store: &mut Counted,
    memory: &mut All,
    path: &str,
    account: &str,
    now: u64,
) -> Decision<'p> {
    let facts = CaseFacts::default();
    let headers: &[(&[u8], &[u8])] = &[(b"x-account", account.as_bytes())];
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        authority: b"",
        headers,
        facts: &facts,
    };
    decide(policy, &request, store, memory, now)
}

fn wait(decision: &Decision<'_>) -> u64 {
    match decision.denial {
        Some(Denial::QuotaExceeded { wait }) => wait,
        _ => 0,
    }
}

#[test]
fn a_flood_is_refused_without_asking_the_store_and_told_the_right_wait() {
    let policy = policy("12/min");
    let (mut store, mut memory) = (Counted::default(), All::default());
    for _ in 0..2 {
        assert_eq!(
            wait(&ask(&policy, &mut store, &mut memory, "/", "a", NOW)),
            0
        );
    }
    assert_eq!(
        wait(&ask(&policy, &mut store, &mut memory, "/", "a", NOW)),
        5 * SECOND
    );
    let (asked, written) = (store.1, store.2);
    for later in [0, 1, SECOND / 2, SECOND - 1] {
        let decision = ask(&policy, &mut store, &mut memory, "/", "a", NOW + later);
        assert_eq!(wait(&decision), 5 * SECOND - later);
        assert!(decision.counts.remembered);
    }
    assert_eq!(store.1, asked);
    // After a second it asks again.
    let decision = ask(
        &policy,
        &mut store,
        &mut memory,
        "/",
        "a",
        NOW + MAX_REMEMBERED,
    );
    assert_eq!(
        (wait(&decision), decision.counts.remembered),
        (4 * SECOND, false)
    );
    assert_eq!(store.2, written, "a refusal writes nothing");
}

#[test]
fn what_is_remembered_ends_when_the_wait_does() {
    let policy = policy("10/s");
    let (mut store, mut memory) = (Counted::default(), All::default());
    for _ in 0..3 {
        ask(&policy, &mut store, &mut memory, "/", "a", NOW);
    }
    assert_eq!(
        wait(&ask(
            &policy,
            &mut store,
            &mut memory,
            "/",
            "a",
            NOW + SECOND / 10 - 1
        )),
        1
    );
    assert_eq!(
        wait(&ask(
            &policy,
            &mut store,
            &mut memory,
            "/",
            "a",
            NOW + SECOND / 10
        )),
        0
    );
}

#[test]
fn another_caller_another_cost_and_a_clock_set_back_are_not_the_same_refusal() {
    let policy = policy("12/min");
    let (mut store, mut memory) = (Counted::default(), All::default());
    ask(&policy, &mut store, &mut memory, "/", "a", NOW);
    assert!(wait(&ask(&policy, &mut store, &mut memory, "/two", "a", NOW)) > 0);
    assert_eq!(
        wait(&ask(&policy, &mut store, &mut memory, "/", "a", NOW)),
        0,
        "one unit is left"
    );
    assert_eq!(
        wait(&ask(&policy, &mut store, &mut memory, "/two", "b", NOW)),
        0
    );
    assert!(wait(&ask(&policy, &mut store, &mut memory, "/", "a", NOW)) > 0);
    assert!(
        !ask(&policy, &mut store, &mut memory, "/", "a", NOW - 1)
            .counts
            .remembered
    );
}
