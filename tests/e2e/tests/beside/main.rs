//! A policy beside the one in force: in shadow it is compared with it, and as a canary it is enforced for a share of callers.
//! Two mounts, the new one first, each with a `vm_id` of its own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod canary;
mod shadow;
mod workers;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tidegate_e2e::{Envoy, eventually};

/// How long Envoy may take to count.
const SOON: Duration = Duration::from_secs(10);

/// A policy with a limit for each account; `more` is merged into it.
fn policy(version: &str, burst: u64, more: &Value) -> Value {
    let mut policy = json!({
        "policy": "beside", "version": version,
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": burst}},
        "always": ["account"],
    });
    for (key, value) in more.as_object().unwrap() {
        policy[key] = value.clone();
    }
    policy
}

/// How often the policy in shadow disagreed, by rule and direction.
async fn disagreements(envoy: &Envoy) -> anyhow::Result<Vec<(String, String, u64)>> {
    let text = envoy.prometheus().await?;
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("tidegate_shadow_disagreements{policy=\"beside\",rule=\"")?;
        let (rule, rest) = rest.split_once("\",direction=\"")?;
        let (direction, count) = rest.split_once("\"} ")?;
        Some((rule.to_owned(), direction.to_owned(), count.parse().ok()?))
    });
    let mut found: Vec<_> = lines.collect();
    found.sort();
    Ok(found)
}

/// Waits until the disagreements are these.
async fn disagrees(envoy: &Envoy, expected: &[(&str, &str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(rule, direction, count)| ((*rule).to_owned(), (*direction).to_owned(), *count))
        .collect();
    eventually(SOON, async || {
        let found = disagreements(envoy).await?;
        ensure!(found == expected, "{found:?}");
        Ok(())
    })
    .await
    .context("the disagreements")
    .unwrap();
}
