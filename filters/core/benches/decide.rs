//! What a decision costs natively, in memory, beside the `governor` crate doing one keyed check.
//!
//! `make bench-core` runs this. Only the ratios of one run count: the machine is noisy.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark that cannot go on fails"
)]

use std::hint::black_box;
use std::num::NonZeroU32;

use criterion::{Criterion, criterion_group, criterion_main};
use governor::{Quota, RateLimiter};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine::decide;
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

const ACCOUNTS: usize = 1_000;

/// `limits` limits, all by account, that never refuse here.
fn policy(limits: usize) -> Policy {
    let names: Vec<_> = (0..limits).map(|n| format!("\"l{n}\"")).collect();
    let bodies: Vec<_> = names
        .iter()
        .map(|name| {
            format!(r#"{name}: {{"per": ["account"], "rate": "1000000/s", "burst": 1000000}}"#)
        })
        .collect();
    let document = format!(
        r#"{{"policy": "bench", "version": "1", "identity": {{"account": [{{"header": "x-account"}}]}},
            "limits": {{{}}}, "always": [{}]}}"#,
        bodies.join(","),
        names.join(",")
    );
    Policy::parse(document.as_bytes()).unwrap()
}

fn benches(criterion: &mut Criterion) {
    let accounts: Vec<String> = (0..ACCOUNTS).map(|n| format!("account-{n:08}")).collect();
    let mut group = criterion.benchmark_group("decide");

    let quota = Quota::per_second(NonZeroU32::new(1_000_000).unwrap());
    let governor = RateLimiter::keyed(quota);
    let mut turn = accounts.iter().cycle();
    group.bench_function("governor, one keyed check", |bencher| {
        bencher.iter(|| governor.check_key(black_box(turn.next().unwrap())).is_ok());
    });

    for limits in [1, 3] {
        let policy = policy(limits);
        let mut store = MemoryStore::new();
        let facts = CaseFacts::default();
        let mut turn = accounts.iter().cycle();
        let mut now = 1_000_000_000_000_u64;
        group.bench_function(format!("tidegate, {limits} limits"), |bencher| {
            bencher.iter(|| {
                let headers: &[(&[u8], &[u8])] = &[
                    (b"user-agent", b"bench"),
                    (b"accept", b"*/*"),
                    (b"x-account", turn.next().unwrap().as_bytes()),
                ];
                let request = Request {
                    method: b"GET",
                    path: b"/v1/things?page=1",
                    authority: b"api.test",
                    headers,
                    facts: &facts,
                };
                now = now.wrapping_add(1_000);
                decide(black_box(&policy), &request, &mut store, &mut (), now)
                    .denial
                    .is_none()
            });
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
