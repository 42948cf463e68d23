//! Who is calling, as Envoy verified it: tokens, certificates, addresses, headers, cookies and parameters.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod addresses;
mod certificates;
mod cookies;
mod secrets;
mod signed;
mod tokens;

use serde_json::{Value, json};
use tidegate_e2e::client::Call;

/// A policy in which each caller has one request an hour. `/closed` is for accounts alone, and `/open` counts nobody
/// else.
fn once(identity: Value) -> Value {
    json!({
        "policy": "identity", "version": "1",
        "identity": identity,
        "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": 1}},
        "always": ["account"],
        "routes": [
            {"name": "closed", "match": {"path": "/closed"}, "anonymous": "deny"},
            {"name": "open", "match": {"path": "/open"}, "anonymous": "allow"},
        ],
    })
}

/// The status, and the name of the problem if there is one: `200`, `429 quota-exceeded`, `401` of another filter.
async fn said(call: Call) -> String {
    let answer = call.send().await.unwrap();
    let status = answer.status.as_u16();
    let problem = answer.problem().unwrap_or_default();
    match problem["type"].as_str() {
        None => status.to_string(),
        Some(kind) => {
            let name = kind.rsplit([':', '#']).next().unwrap_or(kind);
            format!("{status} {name}")
        }
    }
}

const ADMITTED: &str = "200";
const REFUSED: &str = "429 quota-exceeded";
const AMBIGUOUS: &str = "400 identity-ambiguous";
