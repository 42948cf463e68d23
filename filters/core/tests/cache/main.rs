//! Whose copy a request is for, what a cache may keep, and what leaves: CONFORMANCE.md C, without a cache.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod judge;
mod leaving;
mod markers;
mod origin;
mod plans;

use tidegate_core::cache::{Edit, Plan};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine;
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

/// A header line.
type Line<'a> = (&'a [u8], &'a [u8]);

/// Lines from text.
fn lines<'a>(lines: &[(&'a str, &'a str)]) -> Vec<Line<'a>> {
    lines
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect()
}

/// A policy with these routes, whose callers say who they are in headers.
fn policy(routes: &str) -> Policy {
    let document = format!(
        r#"{{"policy": "p", "version": "1",
        "identity": {{"tenant": [{{"header": "x-tenant"}}],
                      "account": [{{"jwt": "sub"}}, {{"header": "x-account"}}, {{"header": "x-key", "secret": true}}]}},
        "routes": {routes}}}"#
    );
    Policy::parse(document.as_bytes()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// What the gate does with a request.
struct Asked<'p> {
    policy: &'p Policy,
    facts: CaseFacts,
    store: MemoryStore,
}

impl<'p> Asked<'p> {
    fn new(policy: &'p Policy) -> Self {
        Self {
            policy,
            facts: CaseFacts::default(),
            store: MemoryStore::new(),
        }
    }

    fn plan(&mut self, method: &str, path: &[u8], headers: &[Line<'_>]) -> Option<Plan> {
        let request = Request {
            method: method.as_bytes(),
            path,
            authority: b"api.test",
            headers,
            facts: &self.facts,
        };
        let decision = engine::decide(self.policy, &request, &mut self.store, &mut (), 1);
        assert_eq!(decision.enforced_denial(), None);
        decision.cache
    }

    fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Plan {
        self.plan("GET", path.as_bytes(), &lines(headers)).unwrap()
    }
}

/// Header lines after changes.
fn edited(headers: &[Line<'_>], edits: &[Edit]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<_> = headers
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    for edit in edits {
        match edit {
            Edit::Remove(name) => lines.retain(|(known, _)| *known != text(name)),
            Edit::Set(name, value) => {
                lines.retain(|(known, _)| *known != text(name));
                lines.push((text(name), text(value)));
            }
            Edit::Add(name, value) => lines.push((text(name), text(value))),
        }
    }
    lines
}

/// The values of a header.
fn values<'a>(lines: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    lines
        .iter()
        .filter(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
        .collect()
}
