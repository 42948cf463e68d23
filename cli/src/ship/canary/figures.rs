//! What Envoy counted since a step began.

use anyhow::Result;
use serde::Serialize;

use crate::ship::Admin;
use crate::ship::admin::Stats;

/// The counters that are read.
const READ: &str =
    "(tidegate_decisions|tidegate_seal_mismatches|downstream_rq_(5xx|completed|time)$)";

/// Figures of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Decisions that were enforced for the share.
    pub(crate) decisions: u64,
    /// Of these, refusals.
    pub(crate) refused: u64,
    /// Answers of all listeners.
    pub(crate) answers: u64,
    /// Of these, of 500 and above.
    pub(crate) server_errors: u64,
    /// Responses that were withheld because they were not their caller's.
    pub(crate) seal_mismatches: u64,
    /// Milliseconds that 99 of 100 requests took at most, in Envoy's last interval.
    pub(crate) p99_ms: Option<f64>,
}

impl Figures {
    /// Reads what Envoy has counted so far for a policy.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub(super) fn read(admin: &Admin, policy: &str) -> Result<Self> {
        Ok(Self::of(&admin.stats(READ)?, policy))
    }

    fn of(stats: &Stats, policy: &str) -> Self {
        let decisions = format!("wasmcustom.tidegate_decisions.policy.{policy}.rule.");
        let mismatches = format!("wasmcustom.tidegate_seal_mismatches.policy.{policy}");
        let mut figures = Self::default();
        for (name, value) in stats.iter() {
            if let Some(rule) = name.strip_prefix(&decisions) {
                let outcome = rule
                    .split_once(".outcome.")
                    .map_or("", |(_, outcome)| outcome);
                if outcome.starts_with("canary-") {
                    add(&mut figures.decisions, value);
                }
                if outcome == "canary-refused" {
                    add(&mut figures.refused, value);
                }
            } else if name == mismatches {
                add(&mut figures.seal_mismatches, value);
            } else if let Some(listener) = name.strip_prefix("http.")
                && !listener.starts_with("admin.")
            {
                if listener.ends_with(".downstream_rq_completed") {
                    add(&mut figures.answers, value);
                } else if listener.ends_with(".downstream_rq_5xx") {
                    add(&mut figures.server_errors, value);
                } else if listener.ends_with(".downstream_rq_time") {
                    let slowest = figures.p99_ms.unwrap_or(0.0);
                    figures.p99_ms = p99(value).map(|time| time.max(slowest)).or(figures.p99_ms);
                }
            }
        }
        figures
    }

    /// Whether Envoy counts anew since `before`, as after a restart. What a policy counts goes with the last VM that runs it, and
    /// so tells nothing.
    pub(super) const fn are_anew(&self, before: &Self) -> bool {
        self.answers < before.answers || self.server_errors < before.server_errors
    }

    /// What was counted since `before`; the p99 is that of Envoy's last interval.
    pub(super) fn since(&self, before: &Self) -> Self {
        let Self {
            decisions,
            refused,
            answers,
            server_errors,
            seal_mismatches,
            p99_ms,
        } = *self;
        Self {
            decisions: decisions.saturating_sub(before.decisions),
            refused: refused.saturating_sub(before.refused),
            answers: answers.saturating_sub(before.answers),
            server_errors: server_errors.saturating_sub(before.server_errors),
            seal_mismatches: seal_mismatches.saturating_sub(before.seal_mismatches),
            p99_ms,
        }
    }
}

fn add(sum: &mut u64, value: &str) {
    *sum = sum.saturating_add(value.parse().unwrap_or(0));
}

/// The p99 of the last interval in a histogram's text, `P0(1,1) … P99(12.5,30) …`.
fn p99(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("P99(")?;
    let (interval, _) = rest.split_once(',')?;
    interval.parse().ok().filter(|time: &f64| time.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{Figures, p99};

    #[test]
    fn counters_that_went_back_are_told_from_such_that_stand_still() {
        let before = Figures {
            server_errors: 7,
            answers: 9,
            ..Figures::default()
        };
        assert!(!before.are_anew(&before));
        assert!(Figures::default().are_anew(&before));
        assert!(!before.are_anew(&Figures::default()));
    }

    #[test]
    fn the_interval_is_read_and_not_all_time() {
        assert_eq!(p99("P0(1,1) P99(12.5,30) P99.5(13,40)"), Some(12.5));
        assert_eq!(p99("P0(nan,1) P99(nan,30)"), None);
        assert_eq!(p99("No recorded values"), None);
    }
}
