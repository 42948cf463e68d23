//! Problem documents (RFC 9457): what a refusal says in its body.

use std::borrow::Cow;

use crate::admission::Said;
use crate::answer::json::Json;
use crate::answer::retry_after;
use crate::denial::Denial;
use crate::engine::Decision;
use crate::policy::{Dimension, Policy};
use crate::quota::{NANOS_PER_MILLI, Rate};

/// Types that IANA registers; `problem_base` does not change them.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// What stands before the name of our own types.
const BASE: &str = "urn:tidegate:problem:";

/// Longer than most documents, so that few are copied while they are written.
const ROOM: usize = 512;

/// A problem document.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    kind: Cow<'static, str>,
    title: &'static str,
    status: u16,
    detail: String,
    instance: Option<&'a str>,
    limits: Vec<Violated<'a>>,
    retry_after_ms: Option<u64>,
}

/// A limit that refuses.
#[derive(Debug)]
struct Violated<'a> {
    name: &'a str,
    per: &'a [Dimension],
    rate: Rate,
    burst: u64,
    wait_ms: Option<u64>,
}

impl Problem<'_> {
    /// The document.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = Json::with_capacity(ROOM);
        json.open('{');
        json.name("type");
        match &self.kind {
            Cow::Borrowed(registered) => json.plain(registered),
            Cow::Owned(own) => json.text(own),
        }
        json.name("title");
        json.plain(self.title);
        json.name("status");
        json.number(self.status.into());
        json.name("detail");
        json.text(&self.detail);
        if let Some(instance) = self.instance {
            json.name("instance");
            json.text(instance);
        }
        if !self.limits.is_empty() {
            json.name("violated-policies");
            json.open('[');
            for limit in &self.limits {
                json.plain(limit.name);
            }
            json.close(']');
            json.name("limits");
            json.open('[');
            for limit in &self.limits {
                limit.write(&mut json);
            }
            json.close(']');
        }
        if let Some(wait) = self.retry_after_ms {
            json.name("retry_after_ms");
            json.number(wait);
        }
        json.close('}');
        json.into_bytes()
    }

    /// What happened, in a sentence.
    pub(super) fn into_detail(self) -> String {
        self.detail
    }
}

impl Violated<'_> {
    fn write(&self, json: &mut Json) {
        json.open('{');
        json.name("name");
        json.plain(self.name);
        json.name("per");
        json.open('[');
        for dimension in self.per {
            json.text(&dimension.name());
        }
        json.close(']');
        json.name("rate");
        json.plain(&self.rate.to_string());
        json.name("burst");
        json.number(self.burst);
        if let Some(wait) = self.wait_ms {
            json.name("wait_ms");
            json.number(wait);
        }
        json.close('}');
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
        limits,
        retry_after_ms: match denial {
            Denial::QuotaExceeded { wait } => Some(wait.div_ceil(NANOS_PER_MILLI)),
            _ => None,
        },
    }
}

fn kind(policy: &Policy, denial: &Denial) -> Cow<'static, str> {
    match denial {
        Denial::QuotaExceeded { .. } => QUOTA_EXCEEDED.into(),
        Denial::StoreUnavailable => REDUCED_CAPACITY.into(),
        other => {
            let base = policy.problem_base.as_deref().unwrap_or(BASE);
            [base, other.rule()].concat().into()
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
                per: &limit.per,
                rate: standing.quota.rate(),
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
