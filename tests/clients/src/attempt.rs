//! What a client sent, as Envoy saw it.

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;

/// The user agent of the harness, whose requests are nobody's attempts.
pub(crate) const HARNESS: &str = "tidegate-harness";

/// A request as it came.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// When, in seconds since 1970.
    pub(crate) at: f64,
    /// What it got.
    pub(crate) status: u16,
    /// After how many seconds it was told to come back.
    pub(crate) retry_after: Option<u64>,
}

/// The attempts at this path in the lines of an access log, in the order in which they came.
pub(crate) fn attempts(log: &[Value], method: &str, path: &str) -> Result<Vec<Attempt>> {
    let own = |line: &&Value| {
        line["path"] == path && line["method"] == method && line["agent"] != HARNESS
    };
    let mut attempts: Vec<_> = log.iter().filter(own).map(attempt).collect::<Result<_>>()?;
    attempts.sort_by(|a, b| a.at.total_cmp(&b.at));
    Ok(attempts)
}

fn attempt(line: &Value) -> Result<Attempt> {
    let text = |name: &str| {
        let text = line[name].as_str().map(str::to_owned);
        text.with_context(|| format!("no `{name}` in {line}"))
    };
    Ok(Attempt {
        at: text("at")?.parse()?,
        status: line["status"]
            .as_u64()
            .and_then(|status| status.try_into().ok())
            .with_context(|| format!("no status in {line}"))?,
        retry_after: text("retry_after")
            .ok()
            .and_then(|seconds| seconds.parse().ok()),
    })
}
