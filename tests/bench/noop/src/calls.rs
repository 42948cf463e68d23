//! The host calls of a request through Tidegate, by Tidegate's own adapter, and nothing between them.

use crate::host::{self, Clock, Map, MetricKind};
use crate::pairs::{self, Pair};

/// How many accounts take turns.
const ACCOUNTS: u32 = 1_000;

/// Names as long as those of Tidegate's sets, one for each limit; the account's number follows.
const SETS: [&[u8]; 3] = [
    b"noop/1/bench/tenant/4096/",
    b"noop/1/bench/account/4096/",
    b"noop/1/bench/things/4096/",
];

/// As long as a set with one bucket.
const SET: [u8; 33] = [1; 33];

/// A number that no writing has.
const NO_WRITING: u32 = u32::MAX;

/// The fields of a request that three limits let pass.
const FIELDS: [Pair<'_>; 2] = [
    (
        b"ratelimit-policy",
        b"\"tenant\";q=1000000;w=600000, \"account\";q=1000000;w=600000, \"things\";q=1000000;w=600000",
    ),
    (
        b"ratelimit",
        b"\"tenant\";r=999999;t=1, \"account\";r=999999;t=1, \"things\";r=999999;t=1",
    ),
];

/// Those of a refusal.
const ANSWER: [Pair<'_>; 5] = [
    (b"content-type", b"application/problem+json"),
    (b"cache-control", b"no-store"),
    (b"retry-after", b"86400"),
    (b"ratelimit-policy", b"\"tenant\";q=1;w=86400"),
    (b"ratelimit", b"\"tenant\";r=0;t=86400"),
];

/// As long as a refusal's problem document.
const BODY: [u8; 387] = [b' '; 387];

/// Those of a request that three limits let pass.
pub(crate) fn on_request(stream: u32) {
    let _ = host::header_pairs(Map::Request);
    let _ = host::now(Clock::Monotonic);
    let account = stream.checked_rem(ACCOUNTS).unwrap_or(0).to_le_bytes();
    let sets = SETS.map(|set| {
        let name = [set, &account].concat();
        let there = host::shared(&name).ok().flatten();
        (name, there.map_or(NO_WRITING, |(_, cas)| cas))
    });
    for (name, cas) in &sets {
        let _ = host::swap_shared(name, &SET, *cas);
    }
    count();
    note(b"allowed");
}

/// Those of its response.
pub(crate) fn on_response() {
    let _ = host::header(Map::Response, "age");
    for (name, value) in FIELDS {
        let _ = host::add_header(Map::Response, name, value);
    }
}

/// Those of a refusal that is remembered.
pub(crate) fn on_refusal() {
    let _ = host::header_pairs(Map::Request);
    let _ = host::now(Clock::Monotonic);
    count();
    note(b"refused:tenant");
    let _ = host::now(Clock::Monotonic);
    let headers = pairs::write(&ANSWER);
    let _ = host::send_response(429, "tidegate_quota-exceeded", &headers, &BODY, -1);
}

fn note(decision: &[u8]) {
    let _ = host::set_property(b"tidegate.decision", decision);
}

fn count() {
    thread_local! {
        static METRIC: Option<u32> =
            host::define_metric(MetricKind::Counter, "noop_decisions").ok();
    }
    if let Some(id) = METRIC.with(|id| *id) {
        let _ = host::increment_metric(id, 1);
    }
}
