//! What one worker has seen of refusals since it told the others.

use std::collections::HashMap;

use crate::denial::NO_RULE;
use crate::engine::Decision;
use crate::key::Key;
use crate::policy::{LimitId, Mode, Policy};
use crate::quota::Quota;
use crate::ruling::Ruling;

/// How many scopes one worker holds until it tells the others; more are counted as lost.
pub const MOST_SCOPES: usize = 1024;

/// A scope as one worker knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope {
    rule: Rule,
    pub(super) shadow: bool,
    pub(super) key: Key,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rule {
    Limit(LimitId),
    Named(&'static str),
}

/// A request that was refused, for whoever looks for it in other logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Example {
    /// The trace it belongs to: 32 hexadecimal digits (W3C Trace Context, section 3.2.2.3).
    pub trace: Option<String>,
    /// Its id.
    pub id: Option<String>,
}

/// What was seen of a scope. Times are nanoseconds on the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) caller: Key,
    /// Which of the policy's labels the caller has.
    pub(super) label: Option<usize>,
    pub(super) quota: Option<Quota>,
    pub(super) example: Example,
}

/// What one worker has seen since it told the others.
#[derive(Debug, Default)]
pub struct Recent {
    pub(super) seen: HashMap<Scope, Seen>,
    lost: u64,
}

impl Scope {
    /// The name of its rule.
    pub(super) fn rule<'p>(&self, policy: &'p Policy) -> &'p str {
        match self.rule {
            Rule::Named(rule) => rule,
            Rule::Limit(LimitId(limit)) => policy.limits.get(limit).map_or(NO_RULE, |l| &l.name),
        }
    }
}

impl Recent {
    /// Notes whom a decision refuses, or would: as metrics count it, by the first limit that refuses, and by each limit in
    /// shadow that would. `example` is asked for scopes that were not seen since the others were told last.
    pub fn note(
        &mut self,
        decision: &Decision<'_>,
        ruling: Ruling<'_>,
        now: u64,
        example: impl Fn() -> Example,
    ) {
        let caller = decision.caller.unwrap_or_default();
        if matches!(ruling, Ruling::Refused(_))
            && let Some(denial) = &decision.denial
        {
            let limit = decision.refusing_limit();
            let standing = decision.standings.iter().find(|s| Some(s.limit) == limit);
            let (rule, key, quota) = match standing {
                Some(standing) => (
                    Rule::Limit(standing.limit),
                    standing.key,
                    Some(standing.quota),
                ),
                None => (Rule::Named(denial.rule()), caller.key, None),
            };
            let shadow = decision.mode == Mode::Shadow;
            let scope = Scope { rule, shadow, key };
            self.add(scope, caller, quota, now, &example);
        }
        for standing in decision
            .standings
            .iter()
            .filter(|s| s.shadow && s.refuses())
        {
            let scope = Scope {
                rule: Rule::Limit(standing.limit),
                shadow: true,
                key: standing.key,
            };
            self.add(scope, caller, Some(standing.quota), now, &example);
        }
    }

    fn add(
        &mut self,
        scope: Scope,
        caller: Caller,
        quota: Option<Quota>,
        now: u64,
        example: impl Fn() -> Example,
    ) {
        if let Some(seen) = self.seen.get_mut(&scope) {
            seen.count = seen.count.saturating_add(1);
            seen.last = seen.last.max(now);
            return;
        }
        if self.seen.len() >= MOST_SCOPES {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        let Caller { key, label } = caller;
        self.seen.insert(
            scope,
            Seen {
                count: 1,
                first: now,
                last: now,
                caller: key,
                label,
                quota,
                example: example(),
            },
        );
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.lost == 0
    }

    /// How many refusals were of scopes for which there was no room, since this was asked last.
    pub fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }
}

/// Who was refused, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The tenant and account, or where they come from.
    pub key: Key,
    /// Which of the policy's labels they have.
    pub label: Option<usize>,
}

impl Default for Caller {
    /// Nobody who could be told.
    fn default() -> Self {
        Self {
            key: Key::ZERO,
            label: None,
        }
    }
}

impl Example {
    /// The example that a request gives: the trace id of its `traceparent`, and its id, each if it is one.
    pub fn of(traceparent: Option<&[u8]>, id: Option<&[u8]>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let visible =
            |id: &&[u8]| (1..=128).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic);
        Self {
            trace: traceparent.and_then(trace_id).and_then(text),
            id: id.filter(visible).and_then(text),
        }
    }
}

/// The trace id of a `traceparent`, of whatever version: `vv-` and 32 hexadecimal digits, not all zero.
fn trace_id(traceparent: &[u8]) -> Option<&[u8]> {
    let (version, rest) = traceparent.split_at_checked(3)?;
    let (trace, rest) = rest.split_at_checked(32)?;
    let hex = |bytes: &[u8]| {
        let digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        bytes.iter().all(digit)
    };
    let [major, minor, b'-'] = version else {
        return None;
    };
    let good = hex(&[*major, *minor])
        && hex(trace)
        && rest.first() == Some(&b'-')
        && trace.iter().any(|byte| *byte != b'0');
    good.then_some(trace)
}
