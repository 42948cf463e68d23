//! Looking at what Envoy counts, again and again.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Figures;
use crate::ship::Admin;

/// How far off the time for which Envoy says that it has been running may be: it counts whole seconds, and answers take a while.
const VAGUE: Duration = Duration::from_secs(2);

/// Looks at one Envoy.
pub(super) struct Looks<'a> {
    admin: &'a Admin,
    policy: &'a str,
    last: Cell<Option<Look>>,
}

#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    uptime: Duration,
    figures: Figures,
}

impl<'a> Looks<'a> {
    pub(super) const fn new(admin: &'a Admin, policy: &'a str) -> Self {
        Self {
            admin,
            policy,
            last: Cell::new(None),
        }
    }

    /// What was counted so far; none if Envoy was started again since the last look, for then nobody knows what there was in between.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub(super) fn look(&self) -> Result<Option<Figures>> {
        let uptime = self.admin.server()?.uptime;
        let look = Look {
            at: Instant::now(),
            uptime,
            figures: Figures::read(self.admin, self.policy)?,
        };
        let goes_on = self.last.get().is_none_or(|last| look.follows(&last));
        self.last.set(Some(look));
        Ok(goes_on.then_some(look.figures))
    }
}

impl Look {
    /// Whether it is of the same process as an earlier one: it has been running for as long as there is between the two, and
    /// no counter went back.
    fn follows(&self, last: &Self) -> bool {
        let between = self.at.saturating_duration_since(last.at);
        let least = last.uptime.saturating_add(between).saturating_sub(VAGUE);
        self.uptime >= least && !self.figures.are_anew(&last.figures)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Figures, Look};

    #[test]
    fn envoy_was_started_again_if_it_is_younger_or_counts_less_than_before() {
        let seconds = Duration::from_secs;
        let begun = Instant::now();
        let look = |at, uptime, answers| Look {
            at: begun + seconds(at),
            uptime: seconds(uptime),
            figures: Figures {
                answers,
                ..Figures::default()
            },
        };
        let first = look(0, 100, 7);
        assert!(look(1, 101, 7).follows(&first));
        assert!(look(1, 100, 8).follows(&first));
        // It counts more already than it did, and has not been running for long.
        assert!(!look(1, 0, 900).follows(&first));
        assert!(!look(9, 105, 900).follows(&first));
        assert!(!look(1, 101, 6).follows(&first));
    }
}
