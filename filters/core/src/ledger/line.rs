//! What is logged of a scope that was refused.

use serde::Serialize;

use super::entry::{Entry, Shown};
use super::recent::Example;
use crate::key::Key;
use crate::policy::Policy;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The scope, as it is known now.
    pub entry: Entry,
    /// How often it was refused since it was logged last.
    pub count: u64,
    /// One of these requests, if there is one at hand.
    pub example: Example,
}

#[derive(Serialize)]
struct Json<'a> {
    log: &'static str,
    policy: &'a str,
    version: &'a str,
    rule: &'a str,
    enforced: bool,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    count: u64,
    total: u64,
    for_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: &'a Option<String>,
}

impl Line {
    /// The line, as one JSON object.
    pub fn json(&self, policy: &Policy) -> String {
        let Self {
            entry,
            count,
            example,
        } = self;
        let line = Json {
            log: "tidegate.refused",
            policy: &policy.name,
            version: &policy.version,
            rule: &entry.id.rule,
            enforced: !entry.id.shadow,
            scope: Shown(entry.id.key).to_string(),
            caller: (entry.caller != Key::ZERO).then(|| Shown(entry.caller).to_string()),
            label: &entry.label,
            count: *count,
            total: entry.count,
            for_ms: entry.last.saturating_sub(entry.since) / 1_000_000,
            trace_id: &example.trace,
            request_id: &example.id,
        };
        // An object of texts and numbers can always be written.
        serde_json::to_string(&line).unwrap_or_default()
    }
}
