//! The role `admin`: what it shows is what requests did, what it changes holds at once, and nobody else is answered.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod browser;
mod documented;
mod limits;
mod private;
mod records;
mod top;

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client, Envoy, Origin};

const SECRET: &str = "s3cr3t-of-amy";

/// Whoever waits for something waits so long at most.
const SOON: Duration = Duration::from_secs(20);

fn policy() -> Value {
    json!({
        "policy": "live", "version": "7.1",
        "identity": {
            "tenant": [{"header": "x-tenant"}],
            "account": [{"header": "x-api-key", "secret": true}, {"query": "account"}],
        },
        "limits": {
            "account": {"per": ["account"], "rate": "1/min", "burst": 3,
                        "overrides": {"account": {"big": {"rate": "60/min", "burst": 30}}}},
            "search": {"per": ["account", "route"], "rate": "6/min", "burst": 2},
        },
        "always": ["account"],
        "routes": [
            {"name": "search", "match": {"path": "/search"}, "limits": ["search"]},
            {"name": "charges", "match": {"methods": ["POST"], "path": "/charges"},
             "idempotency": {"key": "required", "ttl": "1h", "lease": "60s"}},
        ],
    })
}

async fn start(workers: u32) -> (Envoy, Origin) {
    start_with(workers, policy()).await
}

async fn start_with(workers: u32, policy: Value) -> (Envoy, Origin) {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .concurrency(workers)
        .policy(&policy)
        .origin(&origin)
        .admin_role("127.0.0.1")
        .start()
        .await
        .unwrap();
    (envoy, origin)
}

/// A request of Amy's.
async fn amy(envoy: &Envoy, path: &str) -> Answer {
    let call = Client::h1().get(envoy.at(path)).header("x-api-key", SECRET);
    call.send().await.unwrap()
}

async fn ask(envoy: &Envoy, path: &str) -> Answer {
    Client::h1().get(envoy.live(path)).send().await.unwrap()
}

async fn shown(envoy: &Envoy, path: &str) -> Value {
    let answer = ask(envoy, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.json().unwrap()
}

/// Sends a form without being a browser.
async fn post(envoy: &Envoy, path: &str, form: &str) -> Answer {
    let call = Client::h1().post(envoy.live(path));
    let call = call.header("content-type", "application/x-www-form-urlencoded");
    call.body(form.to_owned()).send().await.unwrap()
}

/// The bucket of a limit in an answer.
fn bucket<'a>(answer: &'a Value, limit: &str) -> &'a Value {
    let mut buckets = answer["buckets"].as_array().unwrap().iter();
    let found = buckets.find(|bucket| bucket["limit"] == limit && bucket["stored"] == true);
    found.unwrap_or_else(|| panic!("no bucket of `{limit}` in {answer:#}"))
}
