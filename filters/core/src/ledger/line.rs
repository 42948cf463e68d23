//! What is logged of a scope that was refused.

use serde_json::Value;

use super::entry::{Entry, Shown};
use super::recent::Example;
use crate::policy::Policy;
use crate::quota::NANOS_PER_MILLI;
use crate::report::object;

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

impl Line {
    /// The line, as one JSON object.
    pub fn json(&self, policy: &Policy) -> String {
        let Self {
            entry,
            count,
            example,
        } = self;
        let lasted = entry.last.saturating_sub(entry.since) / NANOS_PER_MILLI;
        let line = object([
            ("log", "tidegate.refused".into()),
            ("policy", policy.name.as_str().into()),
            ("version", policy.version.as_str().into()),
            ("rule", entry.id.rule.as_str().into()),
            ("enforced", (!entry.id.shadow).into()),
            ("scope", Shown(entry.id.key).to_string().into()),
            ("caller", entry.shown_caller().into()),
            ("label", entry.shown_label().into()),
            ("count", (*count).into()),
            ("total", entry.count.into()),
            ("for_ms", lasted.into()),
            ("trace_id", example.trace.as_deref().into()),
            ("request_id", example.id.as_deref().into()),
        ]);
        Value::Object(line).to_string()
    }
}
