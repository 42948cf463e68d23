//! Requests that are made once: idempotency keys and events, from the first attempt to the stored answer, whatever the
//! origin, the network or the clients do in between.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod bodies;
mod charged;
mod contract;
mod detached;
mod flood;
mod freed;
mod full;
mod grpc;
mod keys;
mod leaving;
mod outcomes;
mod parallel;
mod parts;
mod python;
mod reload;
mod replays;
mod scopes;
mod script;
mod shadow;
mod stand;
mod standard_webhooks;
mod stripe;
mod time;
mod webhooks;

use serde_json::Value;
use tidegate_e2e::Answer;

/// The header that carries the key.
const KEY: &str = "idempotency-key";

/// The header that marks a stored answer.
const REPLAYED: &str = "idempotent-replayed";

/// A refusal of this status and type, which tells nothing to caches.
#[track_caller]
fn is_problem(answer: &Answer, status: u16, kind: &str) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    let problem = answer.problem().unwrap();
    let expected = format!("urn:tidegate:problem:{kind}");
    assert_eq!(problem["type"], expected, "{problem}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header(REPLAYED), None);
    problem
}

/// A 409 by which a caller is told to come back.
#[track_caller]
fn is_running(answer: &Answer) {
    is_problem(answer, 409, "request-in-progress");
    assert!(answer.retry_after() >= Some(1), "{answer:?}");
}

/// Whether this is a stored answer.
fn is_replay(answer: &Answer) -> bool {
    let mut lines = answer.headers.get_all(REPLAYED).iter();
    let marked = lines.next().is_some_and(|line| line == "true");
    assert_eq!(lines.next(), None, "{answer:?}");
    marked
}

/// The answer that `first` got, once more.
#[track_caller]
fn is_replay_of(answer: &Answer, first: &Answer) {
    assert!(is_replay(answer), "{answer:?}");
    assert!(!is_replay(first), "{first:?}");
    assert_eq!(answer.status, first.status);
    assert_eq!(answer.body, first.body);
}
