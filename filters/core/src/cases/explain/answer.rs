//! What the caller gets.

use serde::Serialize;
use serde_json::Value;

use super::parts::text;
use crate::answer;
use crate::cases::CaseAnswer;
use crate::cases::run::in_shadow;
use crate::denial::NO_RULE;
use crate::engine::Decision;
use crate::idempotency::Turn;
use crate::policy::{Mode, Policy, RateLimitHeaders};
use crate::ruling::Ruling;

/// What the caller gets.
#[derive(Debug, Clone, Serialize)]
pub struct Answered {
    /// `gate`, `origin`, or `record` for an earlier answer that is sent again.
    pub by: &'static str,
    /// The status.
    pub status: u16,
    /// The rule that refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The rule that would refuse, if nothing were in shadow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<String>,
    /// The header lines that the gate adds or sends.
    pub headers: Vec<(String, String)>,
    /// The problem document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Value>,
}

pub(super) fn of(policy: &Policy, decision: &Decision<'_>, answer: &CaseAnswer) -> Answered {
    let shadow = Some(in_shadow(policy, decision)).filter(|rule| rule != NO_RULE);
    if let Some(denial) = decision.enforced_denial() {
        let rule = match Ruling::of(policy, decision, &decision.turn) {
            Ruling::Refused(rule) => Some(rule.to_owned()),
            Ruling::Allowed | Ruling::Replayed => None,
        };
        let sent = answer::answer(policy, decision, denial, None);
        return Answered {
            by: "gate",
            status: sent.status,
            rule,
            shadow,
            headers: owned(sent.headers),
            problem: serde_json::from_slice(&sent.body).ok(),
        };
    }
    let tells = policy.headers == RateLimitHeaders::Always && decision.mode == Mode::Enforce;
    let fields = tells.then(|| answer::fields(policy, decision).lines().collect::<Vec<_>>());
    let fields = owned(fields.unwrap_or_default());
    let (by, status, mut headers) = match &decision.turn {
        Turn::Replay(replay) => {
            let lines = replay.headers.iter();
            let lines = lines.map(|(name, value)| (text(name), text(value)));
            ("record", replay.status, lines.collect())
        }
        _ => ("origin", answer.status, Vec::new()),
    };
    headers.extend(fields);
    Answered {
        by,
        status,
        rule: None,
        shadow,
        headers,
        problem: None,
    }
}

fn owned(lines: Vec<(&'static str, impl Into<String>)>) -> Vec<(String, String)> {
    let lines = lines.into_iter();
    lines
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}
