//! What operators see: metrics, lines of the log, and events to the outside.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod logs;
mod metrics;
mod notify;
#[path = "../once/python.rs"]
mod python;

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_e2e::Envoy;

const SOON: Duration = Duration::from_secs(30);

/// Each account has so many requests a day.
fn policy(burst: u64) -> Value {
    json!({
        "policy": "seen", "version": "1",
        "identity": {"account": [{"header": "x-api-key", "secret": true}]},
        "limits": {"daily": {"per": ["account"], "rate": format!("{burst}/day"), "burst": burst}},
        "always": ["daily"],
    })
}

/// The lines of this kind in Envoy's log, as JSON.
fn logged(envoy: &Envoy, kind: &str) -> Vec<Value> {
    let log = envoy.log();
    let mark = format!("\"log\":\"{kind}\"");
    let lines = log.lines().filter(|line| line.contains(&mark));
    lines
        .map(|line| {
            let (_, json) = line.split_once(": {").unwrap();
            serde_json::from_str(&format!("{{{json}")).unwrap()
        })
        .collect()
}
