//! The generic cell rate algorithm, over integer nanoseconds.
//!
//! The whole state of a bucket is one timestamp, its *full-at time*: when the bucket will be full again
//! (the "theoretical arrival time" of ITU-T I.371). A time that has passed, zero included, is a full
//! bucket, so an idle bucket and an absent one are the same thing.
//!
//! # Invariants
//! - *Never one too many*: between any two moments a bucket admits at most its burst, plus its rate times
//!   what lies between.
//! - *A refusal moves nothing*: only [`Check::Now`] carries a new state. The one exception is a state that
//!   could not have come about under the policy in force (the clock stepped back, a quota was lowered), by
//!   more than [`SKEW`]: it is brought back to what an empty bucket would be, which never lengthens a wait.
//! - *Exact*: asked again exactly [`Check::Later`]`::wait` later, an untouched bucket admits; one
//!   nanosecond earlier it does not.

use crate::quota::{NANOS_PER_SEC, Quota};

/// How far apart the times may be at which two workers look at one bucket, in nanoseconds: 1 s. A worker that was
/// held up between reading the clock and reading the bucket sees what others charged meanwhile; that is no
/// clock that stepped back.
pub const SKEW: u64 = NANOS_PER_SEC;

/// When a bucket is full again, in nanoseconds on the clock that the caller passes as `now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FullAt(pub u64);

impl FullAt {
    /// A bucket that was never used.
    pub const ALWAYS: Self = Self(0);

    /// The bucket is full at `now`: as good as absent.
    pub const fn is_idle(self, now: u64) -> bool {
        self.0 <= now
    }
}

/// What a bucket says to a request: now, later, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// It has room. The request is admitted once `charged` is stored.
    Now {
        /// The state after the request.
        charged: FullAt,
    },
    /// It has no room yet.
    Later {
        /// After how many nanoseconds it has: at least 1.
        wait: u64,
        /// The state to store instead of an impossible one.
        repaired: Option<FullAt>,
    },
    /// The cost is above the burst: a full bucket does not hold it.
    Never,
}

/// How full a bucket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Whole units: 0 to the burst.
    pub units: u64,
    /// Nanoseconds until there is one unit more; 0 when the bucket is full.
    pub next: u64,
}

impl Level {
    /// The level of a bucket at `now`.
    pub fn of(state: FullAt, now: u64, quota: Quota) -> Self {
        let missing = state.0.saturating_sub(now);
        let there = quota.capacity().saturating_sub(missing);
        let units = there.checked_div(quota.interval()).unwrap_or(0);
        let next = if missing == 0 {
            0
        } else {
            let goal = units.saturating_add(1).saturating_mul(quota.interval());
            missing.saturating_sub(quota.capacity().saturating_sub(goal))
        };
        Self { units, next }
    }
}

/// Asks a bucket whether it has room for `cost` units at `now`.
///
/// `ceiling` is the largest capacity of any quota under which this bucket may be charged (a limit's plans
/// and overrides share their buckets): no state lies further ahead of `now` than that.
pub fn check(state: FullAt, now: u64, quota: Quota, ceiling: u64, cost: u64) -> Check {
    if cost > quota.burst() {
        return Check::Never;
    }
    let latest = now.saturating_add(ceiling.max(quota.capacity()));
    let full_at = if state.0 > latest.saturating_add(SKEW) {
        latest
    } else {
        state.0
    };
    let missing = full_at.saturating_sub(now);
    let needed = missing.saturating_add(cost.saturating_mul(quota.interval()));
    if needed <= quota.capacity() {
        Check::Now {
            charged: FullAt(now.saturating_add(needed)),
        }
    } else {
        Check::Later {
            wait: needed.saturating_sub(quota.capacity()),
            repaired: (full_at < state.0).then_some(FullAt(full_at)),
        }
    }
}

/// Takes a charge back: what the state is without it, given the state `before` it and the one it left
/// (`charged`), when the bucket stands at `state` at `now`.
///
/// Never creates quota, as long as no other charge was made later than `now`: the result is never fuller than
/// if the charge had not been made, and where others have charged the bucket meanwhile, their charges stay.
pub fn refund(state: FullAt, before: FullAt, charged: FullAt, now: u64) -> FullAt {
    let Some(others) = state.0.checked_sub(charged.0) else {
        return state;
    };
    let without = before.0.max(now).saturating_add(others);
    FullAt(without.min(state.0))
}
