//! What is asked of every limiter alike.

use std::time::Duration;

/// One limit for each account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// How many requests at once.
    pub(crate) burst: u32,
    /// The time after which there is one more.
    pub(crate) interval: Duration,
    /// How many accounts there is room for.
    pub(crate) accounts: u32,
}

impl Limit {
    /// Ten at once and one a minute: whoever is drained stays so for the rest of a check.
    pub(crate) const fn ten(accounts: u32) -> Self {
        Self {
            burst: 10,
            interval: Duration::from_secs(60),
            accounts,
        }
    }

    /// So wide that nobody is ever refused, and so slow that hardly a bucket is ever full again.
    pub(crate) const fn wide(accounts: u32) -> Self {
        Self {
            burst: 1_000_000,
            interval: Duration::from_secs(20),
            accounts,
        }
    }

    /// One a minute: drained by the first request.
    pub(crate) const fn one() -> Self {
        Self {
            burst: 1,
            interval: Duration::from_secs(60),
            accounts: 1_000,
        }
    }

    /// The time in which as many come back as may come at once.
    pub(crate) fn window(self) -> Duration {
        self.interval.saturating_mul(self.burst)
    }

    /// The rate, as a number for each second or for each minute; each interval that is used here comes out even.
    pub(crate) fn rate(self) -> (u128, Unit) {
        let interval = self.interval.as_millis();
        if interval <= 1_000 {
            (1_000 / interval, Unit::Second)
        } else {
            (60_000 / interval, Unit::Minute)
        }
    }
}

/// The time that a rate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Minute,
}
