//! Runs cases on a made-up clock.

use core::cell::Cell;

use super::{CacheKey, Case, CaseFacts, CaseRequest, Cases, Expect, Step, cache_key, once};
use crate::admission::{Said, Standing};
use crate::answer;
use crate::cache;
use crate::denial::{Denial, NO_RULE};
use crate::engine::{self, Decision};
use crate::idempotency::Turn;
use crate::policy::{Mode, Policy};
use crate::quota::NANOS_PER_MILLI;
use crate::request::Request;
use crate::ruling::Ruling;
use crate::store::{MemoryStore, StoreError};

/// When a case begins, on a clock that is nowhere near zero.
const START: u64 = 1_000_000_000_000;

/// A step that went otherwise than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// Which step, and which time: both from 1.
    pub step: (usize, u32),
    /// When, in milliseconds after the case began.
    pub at_ms: u64,
    /// What was expected.
    pub expected: Expect,
    /// What the policy said.
    pub found: Expect,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            case,
            step: (step, time),
            at_ms: _,
            expected,
            found,
        } = self;
        write!(
            f,
            "`{case}`, step {step}, time {time}: expected {expected}, found {found}"
        )
    }
}

/// Runs every case; returns how many steps ran, and what went otherwise than expected.
pub fn run(policy: &Policy, cases: &Cases) -> (usize, Vec<Failure>) {
    let mut ran = 0_usize;
    let mut failures = Vec::new();
    for case in &cases.cases {
        let (steps, failed) = run_case(policy, case);
        ran = ran.saturating_add(steps);
        failures.extend(failed);
    }
    (ran, failures)
}

/// Runs one case; returns how many steps ran, and what went otherwise than expected.
pub fn run_case(policy: &Policy, case: &Case) -> (usize, Vec<Failure>) {
    let mut ran = 0_usize;
    let mut failures = Vec::new();
    let mut store = MemoryStore::new();
    let mut copies = Copies::default();
    for (index, step) in case.steps.iter().enumerate() {
        for time in 1..=step.times {
            ran = ran.saturating_add(1);
            let found = observed(policy, step, ran, &mut store, &mut copies);
            if !step.expect.agrees(&found) {
                failures.push(failure(case, (index.saturating_add(1), time), step, found));
                break;
            }
        }
    }
    (ran, failures)
}

fn failure(case: &Case, step: (usize, u32), wanted: &Step, found: Expect) -> Failure {
    Failure {
        case: case.name.clone(),
        step,
        at_ms: wanted.at_ms,
        expected: wanted.expect.clone(),
        found,
    }
}

/// The copies that a case spoke of so far, by the words that it has for them.
#[derive(Default)]
pub(super) struct Copies(Vec<(CacheKey, String)>);

impl Copies {
    /// The word for a copy. One that was not spoken of gets the word that is wanted, unless that is another's already.
    fn word(&mut self, key: CacheKey, wanted: Option<&String>) -> Option<String> {
        if let Some((_, word)) = self.0.iter().find(|(known, _)| *known == key) {
            return Some(word.clone());
        }
        let wanted = wanted?;
        if self.0.iter().any(|(_, word)| word == wanted) {
            return Some(format!("not {wanted}"));
        }
        self.0.push((key, wanted.clone()));
        Some(wanted.clone())
    }
}

/// Asks about the request of a case, the one with this number of all that ran.
pub(super) fn ask<R>(request: &CaseRequest, ran: usize, then: impl FnOnce(&Request<'_>) -> R) -> R {
    let CaseRequest {
        method,
        path,
        host,
        headers,
        claims,
        address,
        body,
    } = request;
    let facts = CaseFacts {
        address: address.clone(),
        claims: claims.clone(),
        has_body: body.is_some(),
        // No two requests have one token.
        randoms: Cell::new(number(ran).wrapping_shl(8)),
        ..CaseFacts::default()
    };
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    then(&Request {
        method: method.as_bytes(),
        path: path.as_bytes(),
        authority: host.as_bytes(),
        headers: &headers,
        facts: &facts,
    })
}

/// So many milliseconds after a case began.
pub(super) const fn time(at_ms: u64) -> u64 {
    START.saturating_add(at_ms.saturating_mul(NANOS_PER_MILLI))
}

fn number(ran: usize) -> u64 {
    u64::try_from(ran).unwrap_or(0)
}

/// What the policy says to the request of a step.
pub(super) fn observed(
    policy: &Policy,
    step: &Step,
    ran: usize,
    store: &mut MemoryStore,
    copies: &mut Copies,
) -> Expect {
    ask(&step.request, ran, |request| {
        told(policy, step, request, ran, store, copies)
    })
}

fn told(
    policy: &Policy,
    step: &Step,
    request: &Request<'_>,
    ran: usize,
    store: &mut MemoryStore,
    copies: &mut Copies,
) -> Expect {
    let now = time(step.at_ms);
    let mut decision = engine::decide(policy, request, store, &mut (), now);
    let plan = decision.cache.take();
    let mut turn = core::mem::take(&mut decision.turn);
    if let Turn::Read(pending) = turn {
        decision = once::whole(policy, *pending, &step.request, store, now);
        turn = core::mem::take(&mut decision.turn);
    }
    let remaining = remaining(policy, &decision);
    let route = decision.route.map_or(NO_RULE, |route| route.name.as_str());
    let (route, shadow) = (Some(route.to_owned()), Some(in_shadow(policy, &decision)));
    if let Some(denial) = decision.enforced_denial() {
        return Expect {
            route,
            shadow,
            ..refused(policy, &decision, denial, remaining)
        };
    }
    let replay = match &turn {
        Turn::Replay(replay) if decision.mode == Mode::Enforce => Some(replay),
        _ => None,
    };
    let status = replay.map_or(step.answer.status, |replay| replay.status);
    let mut found = Expect {
        status,
        kind: None,
        violated: None,
        retry_after: None,
        remaining,
        cache: None,
        copy: None,
        replayed: Some(replay.is_some()),
        reached: Some(replay.is_none()),
        route,
        shadow,
    };
    if found.replayed == Some(true) {
        return found;
    }
    let running = match &turn {
        Turn::Run(running) => Some(running),
        Turn::Detach(detached) => Some(&detached.running),
        Turn::Go | Turn::Read(_) | Turn::Replay(_) => None,
    };
    if let Some(running) = running {
        once::settled(once::answered(policy, running, &step.answer, store));
    }
    if let Some(plan) = &plan {
        found.cache = Some(plan.instruction.usage.word().to_owned());
        found.copy =
            cache_key(request, plan).and_then(|key| copies.word(key, step.expect.copy.as_ref()));
        // A moment of its own: steps at one time follow each other.
        let moment = now.saturating_add(number(ran));
        let renewed = cache::renew(plan.expected.stale, status, store, moment);
        debug_assert_ne!(renewed, Err(StoreError::Unavailable), "a store in memory");
    }
    found
}

/// What a refusal says.
fn refused(
    policy: &Policy,
    decision: &Decision<'_>,
    denial: &Denial,
    remaining: Option<Vec<(String, u64)>>,
) -> Expect {
    let answer = answer::answer(policy, decision, denial, None);
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    Expect {
        status: answer.status,
        kind: problem.get("type").and_then(text),
        violated: problem
            .get("violated-policies")
            .and_then(|names| names.as_array())
            .map(|names| names.iter().filter_map(text).collect()),
        retry_after: answer::retry_after(denial),
        remaining,
        cache: None,
        copy: None,
        replayed: Some(false),
        reached: Some(false),
        route: None,
        shadow: None,
    }
}

/// The rule that would refuse a request, if nothing were in shadow: that of its mode first, then those of limits.
pub(super) fn in_shadow(policy: &Policy, decision: &Decision<'_>) -> String {
    if decision.enforced_denial().is_none()
        && let Ruling::Refused(rule) = Ruling::of(policy, decision, &decision.turn)
    {
        return rule.to_owned();
    }
    let refuses = |s: &&Standing| s.shadow && s.refuses();
    let refusing = decision.standings.iter().find(refuses).map(|s| s.limit);
    let limit = refusing.or(decision.unkeyed.first().copied());
    let limit = limit.and_then(|id| policy.limits.get(id.0));
    limit.map_or(NO_RULE, |limit| &limit.name).to_owned()
}

fn remaining(policy: &Policy, decision: &Decision<'_>) -> Option<Vec<(String, u64)>> {
    let left = decision
        .standings
        .iter()
        .filter(|s| !s.shadow)
        .filter_map(|standing| {
            if !matches!(standing.said, Said::Room | Said::Wait(_)) {
                return None;
            }
            let limit = policy.limits.get(standing.limit.0)?;
            Some((limit.name.clone(), standing.level().units))
        });
    Some(left.collect())
}
