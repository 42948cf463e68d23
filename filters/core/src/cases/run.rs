//! Runs cases on a made-up clock.

use super::{Case, CaseFacts, Cases, Expect, Step};
use crate::admission::Said;
use crate::answer;
use crate::engine::{self, Decision};
use crate::policy::Policy;
use crate::quota::NANOS_PER_MILLI;
use crate::request::Request;
use crate::store::MemoryStore;

/// When a case begins, on a clock that is nowhere near zero.
const START: u64 = 1_000_000_000_000;

/// A step that went otherwise than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// Which step, and which time: both from 1.
    pub step: (usize, u32),
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
        let mut store = MemoryStore::new();
        for (index, step) in case.steps.iter().enumerate() {
            for time in 1..=step.times {
                let found = observed(policy, step, &mut store);
                ran = ran.saturating_add(1);
                if !step.expect.agrees(&found) {
                    failures.push(failure(case, (index.saturating_add(1), time), step, found));
                    break;
                }
            }
        }
    }
    (ran, failures)
}

fn failure(case: &Case, step: (usize, u32), wanted: &Step, found: Expect) -> Failure {
    Failure {
        case: case.name.clone(),
        step,
        expected: wanted.expect.clone(),
        found,
    }
}

/// What the policy says to the request of a step.
fn observed(policy: &Policy, step: &Step, store: &mut MemoryStore) -> Expect {
    let request = &step.request;
    let facts = CaseFacts {
        address: request.address.clone(),
        claims: request.claims.clone(),
        ..CaseFacts::default()
    };
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let request = Request {
        method: request.method.as_bytes(),
        path: request.path.as_bytes(),
        authority: request.host.as_bytes(),
        headers: &headers,
        facts: &facts,
    };
    let now = START.saturating_add(step.at_ms.saturating_mul(NANOS_PER_MILLI));
    let decision = engine::decide(policy, &request, store, &mut (), now);
    let remaining = remaining(policy, &decision);
    let Some(denial) = decision.enforced_denial() else {
        return Expect {
            status: 200,
            kind: None,
            violated: None,
            retry_after: None,
            remaining,
        };
    };
    let answer = answer::answer(policy, &decision, denial, None);
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
    }
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
