//! How a decision is told: over HTTP/1.1, HTTP/2 and gRPC, beside what an origin or a cache says, in shadow, and to
//! operators.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod fields;
mod grpc;
mod refusals;
mod shadow;

use serde_json::{Value, json};
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Client, Envoy, Origin};

/// A policy with a limit of two requests an hour for each account; `more` is merged into it.
fn policy(more: &Value) -> Value {
    let mut policy = json!({
        "policy": "protocols", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": 2}},
        "always": ["account"],
        "routes": [
            {"name": "closed", "match": {"path": "/closed"}, "anonymous": "deny"},
            {"name": "weighed", "match": {"path": "/weighed"}, "cost": {"header": "x-cost"}},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        policy[key] = value.clone();
    }
    policy
}

async fn start(policy: &Value) -> (Envoy, Origin) {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .policy(policy)
        .origin(&origin)
        .start()
        .await
        .unwrap();
    (envoy, origin)
}

async fn send(call: Call) -> Answer {
    call.send().await.unwrap()
}

/// A GET by `account`.
async fn get(envoy: &Envoy, path: &str, account: &str) -> Answer {
    send(
        Client::h1()
            .get(envoy.at(path))
            .header("x-account", account),
    )
    .await
}

/// All lines of a header.
fn lines<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    answer
        .headers
        .get_all(name)
        .iter()
        .map(|line| line.to_str().unwrap())
        .collect()
}
