//! Never one admission too many: hot keys, new keys and several limits at once, on one, two and four workers.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod one_limit;
mod several;

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Envoy, Origin};

/// The numbers of workers.
const WORKERS: [u32; 3] = [1, 2, 4];

/// How many connections are open at once.
const CONNECTIONS: usize = 64;

/// At 1/h nothing comes back while a test runs.
fn policy() -> Value {
    let tenant_and_account = json!(["tenant", "account"]);
    json!({
        "policy": "exact", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "limits": {
            "hot": {"per": ["account"], "rate": "1/h", "burst": 100},
            "roomy": {"per": ["account"], "rate": "1/h", "burst": 1_900},
            "new": {"per": ["account"], "rate": "1/h", "burst": 1, "max_keys": 262_144},
            "refilling": {"per": ["account"], "rate": "100/s", "burst": 20},
            "ceiling": {"per": ["tenant"], "rate": "1/h", "burst": 60},
            "wide": {"per": ["tenant"], "rate": "1/h", "burst": 1_000},
            "account": {"per": tenant_and_account, "rate": "1/h", "burst": 20},
            "small": {"per": tenant_and_account, "rate": "1/h", "burst": 5},
        },
        "routes": [
            {"name": "hot", "match": {"path": "/hot"}, "limits": ["hot"]},
            {"name": "roomy", "match": {"path": "/roomy"}, "limits": ["roomy"]},
            {"name": "new", "match": {"path": "/new"}, "limits": ["new"]},
            {"name": "refilling", "match": {"path": "/refilling"}, "limits": ["refilling"]},
            {"name": "ceiling-first", "match": {"path": "/ceiling-first"}, "limits": ["ceiling", "account"]},
            {"name": "account-first", "match": {"path": "/account-first"}, "limits": ["account", "ceiling"]},
            {"name": "wide", "match": {"path": "/wide"}, "limits": ["wide", "small"]},
            {"name": "left-of-account", "match": {"path": "/left-of-account"}, "limits": ["account"]},
            {"name": "left-of-wide", "match": {"path": "/left-of-wide"}, "limits": ["wide"]},
        ],
    })
}

async fn start(workers: u32) -> (Envoy, Origin) {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .concurrency(workers)
        .policy(&policy())
        .origin(&origin)
        .start()
        .await
        .unwrap();
    (envoy, origin)
}

/// How many of `answers` are a 200; all others are a 429.
fn admitted(answers: &[Answer]) -> u64 {
    let mut admitted = 0;
    for answer in answers {
        match answer.status.as_u16() {
            200 => admitted += 1,
            other => assert_eq!(other, 429, "{}", answer.text()),
        }
    }
    admitted
}

/// No table overflowed and no store failed; says how many swaps were given up.
async fn conclude(what: &str, workers: u32, envoy: &Envoy) {
    for name in ["tidegate_table_overflows", "tidegate_store_errors"] {
        assert_eq!(envoy.counter(name).await.unwrap(), 0, "{name}");
    }
    let given_up = envoy.counter("tidegate_swaps_given_up").await.unwrap();
    println!("{what}, {workers} workers: swaps given up: {given_up}");
}
