//! How the incidents are replayed: the seed, and how much of them.

use std::time::{Duration, Instant};

use fastrand::Rng;

/// What all scenarios of one run have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    /// All of the webhook flood, and not a part.
    pub(crate) full: bool,
}

impl Run {
    /// The dice of one scenario: the same for the same seed, whatever other scenarios throw.
    pub(crate) fn dice(self, scenario: u8) -> Rng {
        Rng::with_seed(self.seed.wrapping_mul(31).wrapping_add(u64::from(scenario)))
    }
}

/// The switch of `dist/tidegate-test.wasm` that sets its clock ahead, by so many milliseconds in all.
pub(crate) const AHEAD: &str = "x-test-ahead-ms";

/// The time of the replayed incident, in a header of each request: Lua guards go by it, and Tidegate's clock is set to it.
pub(crate) const AT: &str = "x-incident-at-ms";

/// A time of that clock: not before `from`, and not after `to`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// A clock that goes as the incident went, while the machine takes what time it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begun: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    /// How much of the machine's time passed.
    pub(crate) fn elapsed(self) -> Duration {
        self.begun.elapsed()
    }

    /// When the module looked at its clock for a request that comes `at` after the start and was written when `written` had passed,
    /// if its answer is here now.
    pub(crate) fn span(self, at: Duration, written: Duration) -> Span {
        // It is told by how much it is ahead in whole milliseconds.
        let told = at.saturating_sub(Duration::from_millis(1));
        Span {
            from: told.max(written),
            to: self.elapsed() + at.saturating_sub(written),
        }
    }

    /// The two header lines of a request that comes `at` after the start: so the real time that passes is not counted twice.
    pub(crate) fn lines(self, at: Duration) -> String {
        let ahead = at.saturating_sub(self.elapsed()).as_millis();
        format!("{AHEAD}: {ahead}\r\n{AT}: {}\r\n", at.as_millis())
    }
}
