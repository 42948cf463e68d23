//! What became of deliveries.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::plan::{Delivery, OTHER};
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
    /// Refusals that say no time, or one that no wait of these limits could be.
    pub(super) odd_waits: u64,
    pub(super) others_refused: u64,
}

impl Outcome {
    /// Counts an answer; returns its row in the timeline.
    pub(super) fn count(
        &mut self,
        delivery: &Delivery,
        heard: &Heard,
        finished: &mut [bool],
    ) -> Result<usize> {
        let ran = !heard.replayed && matches!(heard.status, 200 | 500);
        let refused = heard.status == 429;
        ensure!(
            ran || refused || heard.replayed,
            "a delivery was answered {}: {}",
            heard.status,
            heard.refusal
        );
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
            self.refuse(heard)?;
        }
        self.ran += u64::from(ran);
        Ok(match (ran, refused) {
            (true, _) => RAN,
            (_, true) => REFUSED,
            _ => COLLAPSED,
        })
    }

    fn refuse(&mut self, heard: &Heard) -> Result<()> {
        self.refused += 1;
        // A unit comes back in one second, or in two.
        self.odd_waits += u64::from(!matches!(heard.retry_after, Some(1 | 2)));
        let problem: Value = serde_json::from_str(&heard.refusal).context("a refusal")?;
        match problem["violated-policies"].as_array().map(Vec::as_slice) {
            Some([one]) if one == "source" => self.by_source += 1,
            Some([one]) if one == "tenant-ceiling" => self.by_ceiling += 1,
            other => bail!("refused by {other:?}"),
        }
        Ok(())
    }
}
