//! Problem documents (RFC 9457): what a refusal says in its body.

use serde::Serialize;

use crate::admission::Said;
use crate::answer::retry_after;
use crate::denial::Denial;
use crate::engine::Decision;
use crate::policy::{Dimension, Policy};
use crate::quota::NANOS_PER_MILLI;

/// Types that IANA registers; `problem_base` does not change them.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// What stands before the name of our own types.
const BASE: &str = "urn:tidegate:problem:";

/// A problem document.
#[derive(Debug, Serialize)]
pub(super) struct Problem<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    #[serde(rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    violated_policies: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<Violated<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// A limit that refuses.
#[derive(Debug, Serialize)]
struct Violated<'a> {
    name: &'a str,
    per: Vec<String>,
    rate: String,
    burst: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
}

impl Problem<'_> {
    /// What happened, in a sentence.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// The document.
    pub(super) fn to_json(&self) -> Vec<u8> {
        // Nothing in it can fail to serialise; an empty body is better than no answer.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The document for `denial`.
pub(super) fn problem<'a>(
    policy: &'a Policy,
    decision: &Decision<'_>,
    denial: &Denial,
    status: u16,
    instance: Option<&'a [u8]>,
) -> Problem<'a> {
    let limits = violated(policy, decision, denial);
    let names: Vec<&str> = limits.iter().map(|limit| limit.name).collect();
    let (title, detail) = words(denial, &names);
    Problem {
        kind: kind(policy, denial),
        title,
        status,
        detail,
        instance: instance.and_then(visible),
        violated_policies: names,
        limits,
        retry_after_ms: match denial {
            Denial::QuotaExceeded { wait } => Some(wait.div_ceil(NANOS_PER_MILLI)),
            _ => None,
        },
    }
}

fn kind(policy: &Policy, denial: &Denial) -> String {
    match denial {
        Denial::QuotaExceeded { .. } => QUOTA_EXCEEDED.to_owned(),
        Denial::StoreUnavailable => REDUCED_CAPACITY.to_owned(),
        other => {
            let base = policy.problem_base.as_deref().unwrap_or(BASE);
            format!("{base}{}", other.rule())
        }
    }
}

/// The title, the same for every problem of a type (RFC 9457, section 3.1.3), and the detail.
fn words(denial: &Denial, violated: &[&str]) -> (&'static str, String) {
    match denial {
        Denial::QuotaExceeded { .. } => (
            "too many requests",
            format!(
                "the quota of `{}` is used up; try again in {} s",
                violated.join("`, `"),
                retry_after(denial).unwrap_or(1)
            ),
        ),
        Denial::CostExceedsBurst { cost } => (
            "cost exceeds burst",
            format!(
                "this request costs {cost} units, more than `{}` ever holds; split it",
                violated.join("`, `")
            ),
        ),
        Denial::CostInvalid { header } => (
            "cost invalid",
            format!("header `{header}` is not a cost; write one whole number of at least 1"),
        ),
        Denial::IdentityAmbiguous(ambiguity) => (
            "identity ambiguous",
            format!("`{}` {}", ambiguity.source, ambiguity.fault),
        ),
        Denial::HeadersUnreadable => (
            "identity ambiguous",
            "the request has more headers than can be read; send fewer".to_owned(),
        ),
        Denial::IdentityRequired => (
            "identity required",
            "this request does not say who sends it; authenticate".to_owned(),
        ),
        Denial::ReservedName { name } => (
            "reserved name",
            format!("`{name}` is a reserved name; leave it out"),
        ),
        Denial::StoreUnavailable => (
            "temporarily reduced capacity",
            "the limits of this request could not be checked; try again".to_owned(),
        ),
        Denial::IdempotencyKeyMissing => (
            "idempotency key missing",
            "this request needs an `Idempotency-Key`; send one that is new for each request, and the same for each retry"
                .to_owned(),
        ),
        Denial::IdempotencyKeyInvalid(fault) => (
            "idempotency key invalid",
            format!("`Idempotency-Key` {fault}"),
        ),
        Denial::EventAmbiguous { header } => (
            "idempotency key invalid",
            format!("`{header}` is present twice; send it once"),
        ),
        Denial::RequestInProgress => (
            "request in progress",
            "the first request with this key is still running; try again".to_owned(),
        ),
        Denial::OutcomeUnknown => (
            "outcome unknown",
            "what became of the first request with this key is not known; it is not made again"
                .to_owned(),
        ),
        Denial::ResponseNotStored => (
            "response not stored",
            "the first request with this key was answered, and the answer cannot be sent again"
                .to_owned(),
        ),
        Denial::IdempotencyKeyReused => (
            "idempotency key reused",
            "this key came with another request before; send a new key".to_owned(),
        ),
        Denial::BodyTooLarge => (
            "body too large",
            "the body of this request is larger than may be read; send a smaller one".to_owned(),
        ),
        Denial::NotRecordable(fault) => ("not recordable", format!("this request {fault}")),
        Denial::ResponseOwnerMismatch => (
            "response owner mismatch",
            "the response to this request was not made for its caller; it was withheld".to_owned(),
        ),
        Denial::NoAnswer(_) => (
            "no answer",
            "this request got no answer from whom it was for; a proxy on the way refused it, or did not reach them".to_owned(),
        ),
        Denial::RouteChanged => (
            "route changed",
            "what tells whose copy this request is for led it another way; send it again".to_owned(),
        ),
    }
}

/// The limits that refuse, with what a client needs to act on.
fn violated<'a>(policy: &'a Policy, decision: &Decision<'_>, denial: &Denial) -> Vec<Violated<'a>> {
    let for_ever = matches!(denial, Denial::CostExceedsBurst { .. });
    decision
        .standings
        .iter()
        .filter(|standing| !standing.shadow)
        .filter_map(|standing| {
            let wait_ms = match standing.said {
                Said::Wait(wait) if !for_ever => Some(wait.div_ceil(NANOS_PER_MILLI)),
                Said::Never if for_ever => None,
                _ => return None,
            };
            let limit = policy.limits.get(standing.limit.0)?;
            Some(Violated {
                name: &limit.name,
                per: limit.per.iter().map(Dimension::to_string).collect(),
                rate: standing.quota.rate().to_string(),
                burst: standing.quota.burst(),
                wait_ms,
            })
        })
        .collect()
}

/// The id of a request, where it can be shown: visible ASCII, at most 128 bytes.
fn visible(id: &[u8]) -> Option<&str> {
    let shown = !id.is_empty() && id.len() <= 128 && id.iter().all(u8::is_ascii_graphic);
    core::str::from_utf8(id).ok().filter(|_| shown)
}
