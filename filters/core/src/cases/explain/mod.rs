//! Every step of one decision, for people who want to know why.

mod answer;
mod copy;
mod identity;
mod limits;
mod parts;
mod record;
mod routes;

use serde::Serialize;

pub use self::answer::Answered;
pub use self::copy::Copy;
pub use self::identity::{Address, Part, Who};
pub use self::limits::{Cost, Limit, Quota, Said};
pub use self::parts::KeyPart;
pub use self::record::Record;
pub use self::routes::Route;

use super::run::{Copies, ask, observed, time};
use super::{CaseAnswer, CaseRequest, Expect, Step, once};
use crate::cache::Plan;
use crate::engine::{self, Decision};
use crate::idempotency::Turn;
use crate::policy::{Mode, Policy};
use crate::request::Request;
use crate::reserved;
use crate::route;
use crate::store::MemoryStore;

/// A decision, step by step, in the order in which it was made. Secrets are shown as digests.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The policy.
    pub policy: String,
    /// Its version.
    pub version: String,
    /// `enforce`, or `shadow` where nothing changes for the caller.
    pub mode: &'static str,
    /// How many such requests went before.
    pub after: u32,
    /// When it came, in milliseconds after the first of them.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// The host, as routes and keys compare it.
    pub host: String,
    /// The path without its query, as routes and keys compare it.
    pub path: String,
    /// A name of ours that the request must not use, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
    /// Who is calling.
    pub who: Who,
    /// Whether the policy is enforced for this caller, where it is a canary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<Share>,
    /// The routes in the order tried, up to the one that is taken.
    pub routes: Vec<Route>,
    /// The route that is taken.
    pub route: Option<String>,
    /// What the request costs.
    pub cost: Cost,
    /// The limits, in the order asked.
    pub limits: Vec<Limit>,
    /// The record of the request, where its route has it made once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// Whose copy it may see, where the policy speaks of copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<Copy>,
    /// What the caller gets.
    pub answer: Answered,
}

/// The share of callers for whom a canary is enforced.
#[derive(Debug, Clone, Serialize)]
pub struct Share {
    /// How many callers of a hundred.
    pub percent: u8,
    /// What tells them apart.
    pub by: Vec<String>,
    /// This one is in it.
    pub inside: bool,
}

/// Explains what `policy` says to a request at `at_ms`, when `after` others like it came at 0 and the origin answered
/// each of them with `answer`.
pub fn explain(
    policy: &Policy,
    request: &CaseRequest,
    answer: &CaseAnswer,
    after: u32,
    at_ms: u64,
) -> Explanation {
    let mut store = MemoryStore::new();
    let mut copies = Copies::default();
    let step = Step {
        at_ms: 0,
        times: after,
        request: request.clone(),
        answer: answer.clone(),
        expect: Expect::of(answer.status),
    };
    let mut ran = 0_usize;
    for _ in 0..after {
        ran = ran.saturating_add(1);
        observed(policy, &step, ran, &mut store, &mut copies);
    }
    let ran = ran.saturating_add(1);
    ask(request, ran, |asked| {
        let (decision, plan) = decided(policy, request, asked, &mut store, time(at_ms));
        let identity = crate::identity::Identity::of(&policy.identity, asked).ok();
        let route = decision.route;
        Explanation {
            policy: policy.name.clone(),
            version: policy.version.clone(),
            mode: match decision.mode {
                Mode::Enforce => "enforce",
                Mode::Shadow => "shadow",
            },
            after,
            at_ms,
            method: parts::text(asked.method),
            host: parts::text(&asked.host()),
            path: parts::text(&route::canonical(asked.path_only())),
            reserved: reserved::find(asked),
            who: identity::who(policy, asked),
            canary: policy.canary.as_ref().map(|canary| Share {
                percent: canary.percent,
                by: canary.by.iter().map(ToString::to_string).collect(),
                inside: decision.canary,
            }),
            routes: routes::tried(policy, asked),
            route: route.map(|route| route.name.clone()),
            cost: limits::cost(route, asked),
            limits: identity
                .as_ref()
                .map(|identity| limits::asked(policy, &decision, identity, asked))
                .unwrap_or_default(),
            record: route.zip(identity.as_ref()).and_then(|(route, identity)| {
                record::of(route, &decision, identity, asked, request)
            }),
            copy: plan
                .as_ref()
                .zip(identity.as_ref())
                .map(|(plan, identity)| copy::of(policy, route, plan, identity, asked)),
            answer: answer::of(policy, &decision, answer),
        }
    })
}

/// The decision about a whole request, and what caches are told.
fn decided<'p>(
    policy: &'p Policy,
    request: &CaseRequest,
    asked: &Request<'_>,
    store: &mut MemoryStore,
    now: u64,
) -> (Decision<'p>, Option<Plan>) {
    let mut decision = engine::decide(policy, asked, store, &mut (), now);
    let plan = decision.cache.take();
    match core::mem::take(&mut decision.turn) {
        Turn::Read(pending) => (once::whole(policy, *pending, request, store, now), plan),
        turn => (Decision { turn, ..decision }, plan),
    }
}
