//! What became of deliveries.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::plan::{Delivery, OTHER};
use super::wait::{Buckets, Limit};
use crate::run::Span;
use crate::wire::Heard;

/// The rows of the timeline.
pub(super) const RAN: usize = 0;
pub(super) const COLLAPSED: usize = 1;
pub(super) const REFUSED: usize = 2;
pub(super) const OTHERS: usize = 3;

/// What became of the deliveries of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) sent: u64,
    pub(super) ran: u64,
    pub(super) ran_again: u64,
    pub(super) replays_of_finished: u64,
    pub(super) collapsed: u64,
    pub(super) collapsed_unfinished: u64,
    pub(super) unfinished: u64,
    pub(super) unfinished_ran: u64,
    pub(super) refused: u64,
    /// Refusals by what is said to be violated.
    pub(super) by_source: u64,
    pub(super) by_ceiling: u64,
    /// Refusals whose `Retry-After` is not the wait in their body, rounded up to seconds.
    pub(super) odd_waits: u64,
    /// Refusals whose wait is not what the bucket gives.
    pub(super) wrong_waits: u64,
    /// How far apart the waits lie that a bucket may have given, in milliseconds, where that is known least.
    pub(super) doubt_ms: u64,
    pub(super) others_refused: u64,
}

impl Outcome {
    /// Counts an answer that was decided on at this time; returns its row in the timeline.
    pub(super) fn count(
        &mut self,
        delivery: &Delivery,
        heard: &Heard,
        when: Span,
        finished: &mut [bool],
        buckets: &mut Buckets,
    ) -> Result<usize> {
        let ran = !heard.replayed && matches!(heard.status, 200 | 500);
        let refused = heard.status == 429;
        ensure!(
            ran || refused || heard.replayed,
            "a delivery was answered {}: {}",
            heard.status,
            heard.refusal
        );
        if ran {
            buckets.charge(delivery, when);
        }
        if delivery.tenant == OTHER {
            self.others_refused += u64::from(!ran);
            return Ok(OTHERS);
        }
        self.sent += 1;
        if let Some(done) = finished.get_mut(delivery.event) {
            self.replays_of_finished += u64::from(*done);
            self.ran_again += u64::from(*done && ran);
            self.unfinished += u64::from(!*done);
            self.unfinished_ran += u64::from(!*done && ran);
            self.collapsed += u64::from(*done && heard.replayed);
            self.collapsed_unfinished += u64::from(!*done && heard.replayed);
            *done |= ran && heard.status == 200;
        }
        if refused {
            self.refuse(delivery, heard, when, buckets)?;
        }
        self.ran += u64::from(ran);
        Ok(match (ran, refused) {
            (true, _) => RAN,
            (_, true) => REFUSED,
            _ => COLLAPSED,
        })
    }

    fn refuse(
        &mut self,
        delivery: &Delivery,
        heard: &Heard,
        when: Span,
        buckets: &Buckets,
    ) -> Result<()> {
        self.refused += 1;
        let problem: Value = serde_json::from_str(&heard.refusal).context("a refusal")?;
        let named = match problem["violated-policies"].as_array().map(Vec::as_slice) {
            Some([one]) => one.as_str().and_then(|name| Limit::named(name, delivery)),
            _ => None,
        };
        let limit = named.with_context(|| format!("refused by {}", heard.refusal))?;
        match limit {
            Limit::Source(..) => self.by_source += 1,
            Limit::Ceiling(_) => self.by_ceiling += 1,
        }
        let wait = problem["retry_after_ms"].as_u64();
        let seconds = wait.map(|millis| millis.div_ceil(1_000));
        self.odd_waits += u64::from(wait.is_none() || heard.retry_after != seconds);
        let right = buckets.waits(limit, when);
        self.wrong_waits += u64::from(!wait.is_some_and(|wait| right.contains(&wait)));
        self.doubt_ms = self
            .doubt_ms
            .max(right.end().saturating_sub(*right.start()));
        Ok(())
    }
}
