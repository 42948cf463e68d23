//! `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11), and the older
//! `X-RateLimit-*`.
//!
//! For each limit that can refuse, in the order checked:
//! - `q` is its burst and `w` the seconds in which an empty bucket refills, rounded up: where it is a
//!   whole number, `q` / `w` is the rate.
//! - `r` is the whole units left, `t` the seconds until there is one more, rounded up; of a limit that
//!   refuses, `t` is the seconds until it admits this request. No `t` is later than `Retry-After`
//!   (section 6 of the draft).
//!
//! No partition key (`pk`) is sent: it would say who the caller is to everybody who sees the response.

use crate::admission::{Said, Standing};
use crate::answer::retry_after;
use crate::engine::Decision;
use crate::policy::Policy;
use crate::quota::{MAX_INTEGER, NANOS_PER_SEC, Quota};

/// The values of the fields; empty where no limit was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RateLimitFields {
    /// `RateLimit-Policy`, a List (RFC 9651, section 3.1).
    pub policy: String,
    /// `RateLimit`, a List.
    pub limit: String,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the limit that is nearest to refusing.
    pub legacy: Option<[u64; 3]>,
}

impl RateLimitFields {
    /// The fields as header lines; none where no limit was asked.
    pub fn lines(self) -> impl Iterator<Item = (&'static str, String)> {
        let [limit, remaining, reset] = self.legacy.map_or([None; 3], |values| values.map(Some));
        [
            (
                "ratelimit-policy",
                Some(self.policy).filter(|value| !value.is_empty()),
            ),
            (
                "ratelimit",
                Some(self.limit).filter(|value| !value.is_empty()),
            ),
            ("x-ratelimit-limit", limit.map(|value| value.to_string())),
            (
                "x-ratelimit-remaining",
                remaining.map(|value| value.to_string()),
            ),
            ("x-ratelimit-reset", reset.map(|value| value.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

/// The fields for a decision. Limits that are in shadow are left out: they bind nobody.
pub fn fields(policy: &Policy, decision: &Decision<'_>) -> RateLimitFields {
    let latest = decision
        .denial
        .as_ref()
        .and_then(retry_after)
        .unwrap_or(MAX_INTEGER);
    let mut fields = RateLimitFields {
        policy: String::with_capacity(96),
        limit: String::with_capacity(96),
        legacy: None,
    };
    for standing in &decision.standings {
        let Some(limit) = policy.limits.get(standing.limit.0) else {
            continue;
        };
        let Some((remaining, reset)) = item(standing, latest) else {
            continue;
        };
        let quota = standing.quota;
        divide(&mut fields.policy);
        if quota == limit.quota {
            fields.policy.push_str(&limit.told);
        } else {
            fields.policy.push_str(&policy_member(&limit.name, quota));
        }
        divide(&mut fields.limit);
        member(
            &mut fields.limit,
            &limit.name,
            [(";r=", remaining), (";t=", reset)],
        );
        let nearest = fields
            .legacy
            .is_none_or(|[_, fewest, _]| remaining < fewest);
        if policy.legacy_headers && nearest {
            fields.legacy = Some([quota.burst(), remaining, reset]);
        }
    }
    fields
}

/// What `RateLimit-Policy` says of a limit with this quota.
pub(crate) fn policy_member(name: &str, quota: Quota) -> String {
    // Of the rate as it is written: a bucket's own time is of whole nanoseconds, and a little longer.
    let refill = quota.rate().nanos_for(quota.burst());
    let window = refill.div_ceil(NANOS_PER_SEC).max(1);
    let mut text = String::new();
    member(&mut text, name, [(";q=", quota.burst()), (";w=", window)]);
    text
}

/// What stands between two members of a List.
fn divide(list: &mut String) {
    if !list.is_empty() {
        list.push_str(", ");
    }
}

/// Adds a member to a List. By hand, because this runs for each response: `write!` takes twice as long.
fn member(list: &mut String, name: &str, parameters: [(&str, u64); 2]) {
    // A limit's name is made of characters that need no escaping.
    list.push('"');
    list.push_str(name);
    list.push('"');
    for (key, value) in parameters {
        list.push_str(key);
        list.push_str(itoa::Buffer::new().format(value));
    }
}

/// `r` and `t` of a limit.
fn item(standing: &Standing, latest: u64) -> Option<(u64, u64)> {
    let level = standing.level();
    let wait = match standing.said {
        _ if standing.shadow => return None,
        Said::Room => level.next,
        Said::Wait(wait) => wait,
        Said::Never | Said::Failed(_) => return None,
    };
    Some((level.units, wait.div_ceil(NANOS_PER_SEC).min(latest)))
}
