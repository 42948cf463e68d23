//! The requests of cases that are made once: their bodies on the way in, the origin's answers on the way out.

use super::{CaseAnswer, CaseRequest};
use crate::denial::Denial;
use crate::engine::{self, Decision};
use crate::idempotency::{self, Capture, Outcome, Pending, Running, Turn};
use crate::policy::Policy;
use crate::records::{Settled, drive};
use crate::store::{MemoryStore, StoreError};

/// The decision about a request whose body had to be read.
pub(super) fn whole<'p>(
    policy: &'p Policy,
    mut pending: Pending,
    request: &CaseRequest,
    store: &mut MemoryStore,
    now: u64,
) -> Decision<'p> {
    let body = request.body.as_deref().unwrap_or_default();
    if pending.body.push(body.as_bytes()).is_ok() {
        return engine::resume(policy, pending, store, &mut (), now);
    }
    let decision = engine::give_up(policy, &pending, Denial::BodyTooLarge);
    settled(idempotency::withdraw(&Turn::Read(Box::new(pending)), store, now).map(|()| true));
    decision
}

/// What the origin's answer makes of the record of a request that ran.
///
/// # Errors
/// The store's.
pub fn answered(
    policy: &Policy,
    running: &Running,
    answer: &CaseAnswer,
    store: &mut MemoryStore,
) -> Result<bool, StoreError> {
    let route = policy.routes.get(running.route);
    let Some(rule) = route.and_then(|route| route.idempotency.as_ref()) else {
        return Ok(true);
    };
    let place = &running.place;
    if let Some(released) = Outcome::Answered(answer.status).settled(rule) {
        return drive::settle(store, place, released);
    }
    let headers: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let mut capture = if running.keeps {
        Capture::new(answer.status, &headers, rule.max_body)
    } else {
        Capture::nothing(answer.status)
    };
    capture.push(answer.body.as_bytes());
    match capture.stored(place.owner) {
        Some(bytes) => drive::store_answer(store, &policy.room, place, &bytes),
        None => drive::settle(store, place, Settled::TooLarge),
    }
}

/// Nobody else is at work on a store in memory, and it does not fail.
pub(super) fn settled(settled: Result<bool, StoreError>) {
    debug_assert_eq!(settled, Ok(true), "a store in memory");
}
