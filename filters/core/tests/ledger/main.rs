//! Who was refused: what workers tell each other of it, and what is logged and sent of that.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod events;
mod notices;
mod scopes;

use serde_json::{Value, json};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine;
use tidegate_core::ledger::{Entry, Example, Line, Recent, drive};
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::ruling::Ruling;
use tidegate_core::store::MemoryStore;

/// A second.
const S: u64 = 1_000_000_000;

/// When everything begins.
const NOW: u64 = 1_000 * S;

/// A worker of an Envoy: its own memory, and a policy.
struct Worker {
    policy: Policy,
    recent: Recent,
}

impl Worker {
    /// A worker of a policy by which each account has one request a day; `change` makes more of it.
    fn new(change: impl FnOnce(&mut Value)) -> Self {
        let mut document = json!({
            "policy": "strict", "version": "1",
            "identity": {"account": [{"header": "x-key", "secret": true}]},
            "limits": {"daily": {"per": ["account"], "rate": "1/day", "burst": 1}},
            "always": ["daily"],
            "routes": [
                {"name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "idempotency": {"key": "required"}},
                {"name": "tried", "match": {"path": "/tried"}, "mode": "shadow"},
            ],
        });
        change(&mut document);
        let policy = Policy::parse(document.to_string().as_bytes());
        Self {
            policy: policy.unwrap_or_else(|wrong| panic!("{wrong:#?}")),
            recent: Recent::default(),
        }
    }

    /// A request of an account at a time, of which the worker notes what it has to.
    fn request(&mut self, store: &mut MemoryStore, method: &str, path: &str, key: &str, now: u64) {
        let headers = [(&b"x-key"[..], key.as_bytes())];
        let facts = CaseFacts {
            address: "192.0.2.1:4711".to_owned(),
            ..CaseFacts::default()
        };
        let request = Request {
            method: method.as_bytes(),
            path: path.as_bytes(),
            authority: b"api.test",
            headers: &headers,
            facts: &facts,
        };
        let decision = engine::decide(&self.policy, &request, store, &mut (), now);
        let ruling = Ruling::of(&self.policy, &decision, &decision.turn);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let example = || Example::of(Some(parent.as_bytes()), Some(b"id-1"));
        self.recent.note(&decision, ruling, now, example);
    }

    /// A request that its limit refuses, if the account had one before.
    fn get(&mut self, store: &mut MemoryStore, key: &str, now: u64) {
        self.request(store, "GET", "/", key, now);
    }

    /// What it logs when it tells the others.
    fn tell(&mut self, store: &mut MemoryStore, now: u64) -> Vec<Line> {
        let told = drive::tell(store, &self.policy, &mut self.recent, now);
        assert_eq!((told.lost, told.failed), (0, 0));
        assert!(self.recent.is_empty());
        told.lines
    }
}

/// What is known, that of the highest count first.
fn known(store: &mut MemoryStore) -> Vec<Entry> {
    let mut entries = drive::all(store).unwrap();
    entries.sort_by_key(|entry| core::cmp::Reverse(entry.count));
    entries
}
