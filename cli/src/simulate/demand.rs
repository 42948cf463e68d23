//! What would have been enough: the burst that each bucket would have needed, at the rate as written and at others.
//!
//! A bucket that refills at a rate and is charged for every request, refused ones too, owes at some moment the most. That
//! is the smallest burst that would have refused nothing; the engine's own arithmetic, with nothing rounded.

use tidegate_core::quota::{Period, Quota};

/// At how many rates each bucket is watched.
pub(crate) const POINTS: usize = 32;

/// The place of the rate as written among them. Each is the one before it times the square root of two: from a
/// sixteenth of the rate as written to 2,896 times it.
const WRITTEN: usize = 8;

/// A quota that a limit gives some of its buckets, and the times in which one unit comes back at the rates that are
/// watched, in nanoseconds. Doubles hold whole numbers to 2^53, and 2^53 ns are 104 days.
#[derive(Debug, Clone)]
pub(crate) struct Tier {
    pub(crate) quota: Quota,
    intervals: [f64; POINTS],
}

/// What one bucket owed and owes, at each rate, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    last: u64,
    owed: [f64; POINTS],
    most: [f64; POINTS],
}

/// What would have been enough for one bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Enough {
    /// The time for one unit that is short enough with the burst as written; `None`: no rate is.
    pub(crate) interval: Option<f64>,
    /// The longest time for one unit that is known to be too long.
    pub(crate) too_long: Option<f64>,
}

#[allow(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "times below 2^53 ns, which a double holds exactly; above that an estimate is enough"
)]
const fn float(number: u64) -> f64 {
    number as f64
}

#[allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest number that there is"
)]
pub(crate) const fn whole(number: f64) -> u64 {
    number as u64
}

impl Tier {
    pub(crate) fn new(quota: Quota) -> Self {
        let written = float(quota.interval());
        let mut power = 0.0625_f64;
        let intervals = core::array::from_fn(|point| {
            // Every other point exactly a power of two, so that the rate as written is met exactly.
            let factor = if point % 2 == 0 {
                power
            } else {
                let between = power * core::f64::consts::SQRT_2;
                power *= 2.0;
                between
            };
            (written / factor).ceil().max(1_000.0)
        });
        Self { quota, intervals }
    }

    /// The time for one unit at a point, in nanoseconds.
    pub(crate) fn interval(&self, point: usize) -> f64 {
        self.intervals.get(point).copied().unwrap_or(f64::MAX)
    }

    /// The burst that a bucket needs at a point.
    pub(crate) fn burst(&self, demand: &Demand, point: usize) -> u64 {
        let most = demand.most.get(point).copied().unwrap_or(0.0);
        whole((most / self.interval(point)).ceil())
    }

    /// The burst that a bucket needs at the rate as written.
    pub(crate) fn burst_as_written(&self, demand: &Demand) -> u64 {
        self.burst(demand, WRITTEN)
    }

    /// The rate that is enough with the burst as written. What a bucket owes is a convex function of the time for one
    /// unit, so between two points the straight line is above it: what the line allows is enough.
    pub(crate) fn enough(&self, demand: &Demand) -> Enough {
        let burst = float(self.quota.burst());
        let over = |point: usize| {
            let most = demand.most.get(point).copied().unwrap_or(0.0);
            burst.mul_add(-self.interval(point), most)
        };
        let Some(fits) = (0..POINTS).find(|point| over(*point) <= 0.0) else {
            return Enough {
                interval: None,
                too_long: Some(self.interval(POINTS.saturating_sub(1))),
            };
        };
        let Some(before) = fits.checked_sub(1) else {
            return Enough {
                interval: Some(self.interval(0)),
                too_long: None,
            };
        };
        let (short, long) = (self.interval(fits), self.interval(before));
        let share = -over(fits) / (over(before) - over(fits));
        Enough {
            interval: Some(((long - short) * share + short).floor().max(short)),
            too_long: Some(long),
        }
    }
}

impl Demand {
    pub(crate) const fn new(now: u64) -> Self {
        Self {
            last: now,
            owed: [0.0; POINTS],
            most: [0.0; POINTS],
        }
    }

    /// Charges a request at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, tier: &Tier, now: u64, cost: u64) {
        let passed = float(now.saturating_sub(self.last));
        let cost = float(cost);
        self.last = now;
        let all = self
            .owed
            .iter_mut()
            .zip(&mut self.most)
            .zip(&tier.intervals);
        for ((owed, most), interval) in all {
            let left = *owed - passed;
            let left = if left > 0.0 { left } else { 0.0 };
            let now = cost * interval + left;
            *owed = now;
            *most = if now > *most { now } else { *most };
        }
    }
}

/// A rate as a policy writes it, at least as fast as one unit in `interval` nanoseconds: in the unit of `like`, or a
/// longer one where the number would be so small that rounding it up matters.
pub(crate) fn rate(interval: f64, like: Period) -> String {
    let periods = [Period::Second, Period::Minute, Period::Hour, Period::Day];
    let mut text = String::new();
    for period in periods.into_iter().skip_while(|period| *period != like) {
        let units = float(period.nanos()) / interval;
        // A thousandth of one is no more than what doubles leave.
        let units = whole((units - 0.001).ceil().max(1.0));
        text = format!("{units}/{}", period.unit());
        if units >= 50 {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use tidegate_core::gcra::{Check, FullAt, check};
    use tidegate_core::quota::Rate;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn quota(units: u64, burst: u64) -> Quota {
        Quota::new(Rate::new(units, Period::Minute).unwrap(), burst).unwrap()
    }

    fn refusals(quota: Quota, requests: &[(u64, u64)]) -> usize {
        let mut state = FullAt::ALWAYS;
        let refused = requests.iter().filter(|(now, cost)| {
            match check(state, *now, quota, quota.capacity(), *cost) {
                Check::Now { charged } => {
                    state = charged;
                    false
                }
                _ => true,
            }
        });
        refused.count()
    }

    /// Requests at uneven times, some together, some costly.
    fn requests(seed: u64) -> Vec<(u64, u64)> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut now = 1_000 * SECOND;
        let one = |_| {
            if random.u8(..) > 50 {
                now += random.u64(..4 * SECOND);
            }
            (now, random.u64(1..4))
        };
        (0..300).map(one).collect()
    }

    #[test]
    fn the_burst_is_the_smallest_that_refuses_nothing() {
        for seed in 0..50 {
            let requests = requests(seed);
            let tier = Tier::new(quota(60, 5));
            let mut demand = Demand::new(requests[0].0);
            requests
                .iter()
                .for_each(|(now, cost)| demand.charge(&tier, *now, *cost));
            let burst = tier.burst_as_written(&demand);
            assert_eq!(refusals(quota(60, burst), &requests), 0, "{burst}");
            assert_ne!(refusals(quota(60, burst - 1), &requests), 0, "{burst}");
        }
    }

    #[test]
    fn the_rate_is_enough_and_what_is_too_slow_refuses() {
        for seed in 0..50 {
            let requests = requests(seed);
            let burst = 20;
            let tier = Tier::new(quota(60, burst));
            let mut demand = Demand::new(requests[0].0);
            requests
                .iter()
                .for_each(|(now, cost)| demand.charge(&tier, *now, *cost));
            let found = tier.enough(&demand);
            let per_hour = |interval: f64| {
                let units = whole((3_600.0 * 1e9 / interval).ceil());
                Quota::new(Rate::new(units, Period::Hour).unwrap(), burst).unwrap()
            };
            let enough = found.interval.unwrap();
            assert_eq!(refusals(per_hour(enough), &requests), 0);
            let too_long = found.too_long.unwrap();
            assert_ne!(refusals(per_hour(too_long), &requests), 0);
            assert!(enough < too_long && enough * 1.42 >= too_long);
        }
    }

    #[test]
    fn where_too_many_come_at_once_no_rate_is_enough() {
        let tier = Tier::new(quota(60, 5));
        let mut demand = Demand::new(0);
        (0..6).for_each(|_| demand.charge(&tier, 0, 1));
        assert_eq!(tier.enough(&demand).interval, None);
        assert_eq!(tier.burst_as_written(&demand), 6);
    }

    #[test]
    fn rates_are_written_as_policies_write_them() {
        assert_eq!(rate(1e9, Period::Minute), "60/min");
        assert_eq!(rate(1e9, Period::Second), "60/min");
        assert_eq!(rate(1e6, Period::Second), "1000/s");
        assert_eq!(rate(3e10, Period::Minute), "120/h");
        assert_eq!(rate(1e16, Period::Minute), "1/day");
    }
}
