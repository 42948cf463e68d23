//! What a client made of a refusal.

use std::fmt;

use serde::Serialize;

use crate::ask::Told;
use crate::attempt::Attempt;

/// How much earlier than told a client may seem to come: clocks of two processes, and timers that fire a millisecond early.
const EARLY: f64 = 0.005;

/// How much later than told is still as told: on a machine that has more to do, a client may take seconds to wake up.
const LATE: f64 = 3.0;

/// All that was seen of one request of an application.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Seen {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) told: Told,
}

/// What it comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// It gives the refusal to the application at once.
    HandsBack,
    /// It comes back when it was told to, each time, and is served.
    Waits,
    /// As [`Reaction::Waits`], and is served with the stored answer.
    WaitsForReplay,
    /// It comes back before it was told to, at least once, and gets the stored answer in the end.
    EarlyForReplay,
    /// It comes back before it was told to, at least once.
    Early,
    /// It comes back more than three seconds after it was told to.
    Late,
    /// It comes back, each time when it was told to, and gives up before it is served.
    GivesUp,
    /// It was not told when to come back, and comes back so many times all the same.
    Insists(usize),
    /// It was served at once: there was nothing to react to.
    NothingSeen,
}

impl Seen {
    pub(crate) fn reaction(&self) -> Reaction {
        let served = self.told.status == Some(200);
        let Some((last, refused)) = self.attempts.split_last() else {
            return Reaction::NothingSeen;
        };
        if refused.is_empty() {
            return if served {
                Reaction::NothingSeen
            } else {
                Reaction::HandsBack
            };
        }
        if last.retry_after.is_none() && !served {
            return Reaction::Insists(refused.len());
        }
        // How much later than told each came.
        let late = self.attempts.windows(2).map(|pair| match pair {
            [before, after] => after.at - before.at - before.told(),
            _ => 0.0,
        });
        let (mut earliest, mut latest) = (f64::MAX, f64::MIN);
        for late in late {
            earliest = earliest.min(late);
            latest = latest.max(late);
        }
        match (earliest < -EARLY, latest > LATE, served) {
            (true, _, true) if self.told.replayed => Reaction::EarlyForReplay,
            (true, _, _) => Reaction::Early,
            (_, true, _) => Reaction::Late,
            (_, _, false) => Reaction::GivesUp,
            (_, _, true) if self.told.replayed => Reaction::WaitsForReplay,
            (_, _, true) => Reaction::Waits,
        }
    }

    /// Each attempt's status and the pauses between them: `429 3.0 s 200`.
    pub(crate) fn times(&self) -> String {
        let mut text = String::new();
        let mut before = None;
        for attempt in &self.attempts {
            if let Some(before) = before {
                text += &format!(" {:.1} s ", attempt.at - before);
            }
            text += &attempt.status.to_string();
            before = Some(attempt.at);
        }
        text
    }
}

impl Attempt {
    /// After how many seconds it was told to come back, or none at all.
    #[allow(clippy::cast_precision_loss, reason = "a few seconds")]
    pub(crate) fn told(&self) -> f64 {
        self.retry_after.unwrap_or(0) as f64
    }
}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HandsBack => "hands it back",
            Self::Waits => "**waits as told**",
            Self::WaitsForReplay => "**waits as told**, gets the replay",
            Self::EarlyForReplay => "comes back too early, gets the replay",
            Self::Early => "comes back too early",
            Self::Late => "comes back too late",
            Self::GivesUp => "waits as told, gives up",
            Self::Insists(times) => return write!(f, "tries {times} more times"),
            Self::NothingSeen => "was not refused",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, Reaction, Seen, Told};

    fn seen(attempts: &[(f64, u16, Option<u64>)], status: u16, replayed: bool) -> Reaction {
        let attempts = attempts.iter().map(|&(at, status, retry_after)| Attempt {
            at,
            status,
            retry_after,
        });
        let told = Told {
            status: Some(status),
            replayed,
            error: None,
        };
        let attempts = attempts.collect();
        Seen { attempts, told }.reaction()
    }

    #[test]
    fn a_reaction_is_told_from_the_times_of_attempts() {
        let told = Some(3);
        for (attempts, status, replayed, reaction) in [
            (&[][..], 200, false, Reaction::NothingSeen),
            (&[(0.0, 200, None)], 200, false, Reaction::NothingSeen),
            (&[(0.0, 429, told)], 429, false, Reaction::HandsBack),
            (
                &[(0.0, 429, told), (3.0, 200, None)],
                200,
                false,
                Reaction::Waits,
            ),
            (
                &[(0.0, 409, told), (3.4, 200, None)],
                200,
                true,
                Reaction::WaitsForReplay,
            ),
            (
                &[(0.0, 429, told), (2.9, 429, Some(1)), (4.0, 200, None)],
                200,
                false,
                Reaction::Early,
            ),
            (
                &[(0.0, 409, told), (2.9, 200, None)],
                200,
                true,
                Reaction::EarlyForReplay,
            ),
            (
                &[(0.0, 429, told), (6.5, 200, None)],
                200,
                false,
                Reaction::Late,
            ),
            (
                &[(0.0, 503, told), (3.0, 503, told)],
                503,
                false,
                Reaction::GivesUp,
            ),
            (
                &[(0.0, 409, None), (0.1, 409, None), (0.5, 409, None)],
                409,
                false,
                Reaction::Insists(2),
            ),
        ] {
            assert_eq!(
                seen(attempts, status, replayed),
                reaction,
                "{attempts:?} {status}"
            );
        }
    }
}
