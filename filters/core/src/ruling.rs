//! What a gate did with a request, in one word and the rule behind it: for access logs, and for a policy in shadow that is
//! compared with the one in force.

use std::borrow::Cow;

use crate::denial::RESPONSE_RULES;
use crate::engine::Decision;
use crate::idempotency::Turn;
use crate::policy::{Mode, Policy};

/// What a gate did with a request, or would have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling<'a> {
    /// It went ahead.
    Allowed,
    /// An earlier answer was sent again.
    Replayed,
    /// It was refused, by the limit or rule of this name.
    Refused(&'a str),
}

/// The rule of a disagreement about whose copy a request is for.
pub const CACHE_KEY: &str = "cache-key";

/// The rule of a disagreement about whether there is an earlier answer.
pub const REPLAY: &str = "replay";

const SHADOW: &str = "shadow-";

/// In which direction a policy in shadow disagrees with the one in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cases", derive(serde::Serialize))]
#[cfg_attr(feature = "cases", serde(rename_all = "lowercase"))]
pub enum Direction {
    /// It would refuse what was let through.
    Stricter,
    /// It would let through what was refused.
    Looser,
    /// Neither: both refuse and by different rules, or one of them has an earlier answer.
    Other,
}

impl Direction {
    /// The direction in metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stricter => "stricter",
            Self::Looser => "looser",
            Self::Other => "other",
        }
    }
}

impl<'a> Ruling<'a> {
    /// What a decision does, or would do if it were enforced. `turn` is what is next for the request, which may have been
    /// taken out of the decision.
    pub fn of(policy: &'a Policy, decision: &Decision<'_>, turn: &Turn) -> Self {
        let limit = decision
            .refusing_limit()
            .and_then(|id| policy.limits.get(id.0));
        match (&decision.denial, limit) {
            (Some(_), Some(limit)) => Self::Refused(&limit.name),
            (Some(denial), None) => Self::Refused(denial.rule()),
            (None, _) if matches!(turn, Turn::Replay(_)) => Self::Replayed,
            (None, _) => Self::Allowed,
        }
    }

    /// The ruling as access logs show it: `allowed`, `replayed` or `refused:RULE`, and `shadow-replayed` or
    /// `shadow-refused:RULE` where it changed nothing.
    pub fn shown(self, mode: Mode) -> Cow<'static, str> {
        match (self, mode) {
            (Self::Allowed, _) => Cow::Borrowed("allowed"),
            (Self::Replayed, Mode::Enforce) => Cow::Borrowed("replayed"),
            (Self::Replayed, Mode::Shadow) => Cow::Borrowed("shadow-replayed"),
            (Self::Refused(rule), Mode::Enforce) => Cow::Owned(format!("refused:{rule}")),
            (Self::Refused(rule), Mode::Shadow) => Cow::Owned(format!("shadow-refused:{rule}")),
        }
    }

    /// What would have become of a request, from what access logs show of it.
    pub fn meant(text: &'a str) -> Option<Self> {
        Self::read(text.strip_prefix(SHADOW).unwrap_or(text))
    }

    /// What became of a request, from what access logs show of it; `None` where the text is none of ours. A request that
    /// something in shadow would have refused went ahead, and so did one whose response was withheld.
    pub fn read(text: &'a str) -> Option<Self> {
        if text == "allowed" || text.starts_with(SHADOW) {
            return Some(Self::Allowed);
        }
        if text == "replayed" {
            return Some(Self::Replayed);
        }
        let rule = text.strip_prefix("refused:")?;
        Some(if RESPONSE_RULES.contains(&rule) {
            Self::Allowed
        } else {
            Self::Refused(rule)
        })
    }

    /// Whether this, which would have been done, differs from what `was` done: by which rule, and in which direction.
    pub fn against(self, was: Self) -> Option<(&'a str, Direction)> {
        match (self, was) {
            (Self::Allowed, Self::Allowed) | (Self::Replayed, Self::Replayed) => None,
            (Self::Refused(would), Self::Refused(did)) if would == did => None,
            (Self::Refused(rule), Self::Allowed) => Some((rule, Direction::Stricter)),
            (Self::Allowed, Self::Refused(rule)) => Some((rule, Direction::Looser)),
            (Self::Refused(rule), _) | (Self::Replayed, Self::Refused(rule)) => {
                Some((rule, Direction::Other))
            }
            (Self::Replayed, Self::Allowed) | (Self::Allowed, Self::Replayed) => {
                Some((REPLAY, Direction::Other))
            }
        }
    }
}
