//! What would have been enough: the burst that each bucket would have needed, at the rate as written and at others.
//!
//! A bucket that refills at a rate and is charged for every request, refused ones too, owes at some moment the most. That
//! is the smallest burst that would have refused nothing; the engine's own arithmetic, with nothing rounded. The rate that
//! would have been enough with the burst as written is in [`slope`](super::slope).

use tidegate_core::quota::{Period, Quota};

use super::number::{float, whole};
use super::slope::Slope;

/// At how many rates each bucket is watched.
pub(crate) const POINTS: usize = 16;

/// The slowest of them, as a share of the rate as written; each is twice the one before it, up to 2,048 times that.
const SLOWEST: f64 = 0.0625;

/// A quota that a limit gives some of its buckets, and the times in which one unit comes back at the rates that are
/// watched, in nanoseconds. Doubles hold whole numbers to 2^53, and 2^53 ns are 104 days.
#[derive(Debug, Clone)]
pub(crate) struct Tier {
    pub(crate) quota: Quota,
    intervals: [f64; POINTS],
}

/// What one bucket owed and owes, in nanoseconds, and the slowest rate that is enough with the burst as written.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    first: u64,
    last: u64,
    owed: f64,
    most: f64,
    slope: Slope,
}

/// What one bucket owed and owes at each rate, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    last: u64,
    owed: [f64; POINTS],
    most: [f64; POINTS],
}

impl Tier {
    pub(crate) fn new(quota: Quota) -> Self {
        let written = float(quota.interval());
        let mut factor = SLOWEST;
        let intervals = core::array::from_fn(|_| {
            let interval = (written / factor).ceil().max(1_000.0);
            factor *= 2.0;
            // That of the rate that is told, which a policy can say.
            let (units, period) = units(interval, quota.rate().period());
            float(period.nanos().div_ceil(units))
        });
        Self { quota, intervals }
    }

    /// The time for one unit at a point, in nanoseconds.
    pub(crate) fn interval(&self, point: usize) -> f64 {
        self.intervals.get(point).copied().unwrap_or(f64::MAX)
    }

    /// The burst that a bucket needs at a point.
    pub(crate) fn burst(&self, curve: &Curve, point: usize) -> u64 {
        let most = curve.most.get(point).copied().unwrap_or(0.0);
        whole((most / self.interval(point)).ceil())
    }

    /// The burst that a bucket needs at the rate as written.
    pub(crate) fn burst_as_written(&self, demand: &Demand) -> u64 {
        whole((demand.most / float(self.quota.interval())).ceil())
    }
}

impl Demand {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            first: now,
            last: now,
            owed: 0.0,
            most: 0.0,
            slope: Slope::default(),
        }
    }

    /// The slowest rate that is enough with the burst as written.
    pub(crate) const fn slope(&self) -> &Slope {
        &self.slope
    }

    /// Charges a request at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, quota: Quota, now: u64, cost: u64) {
        let cost = float(cost);
        let left = (self.owed - float(now.saturating_sub(self.last))).max(0.0);
        self.owed = cost * float(quota.interval()) + left;
        self.most = self.most.max(self.owed);
        self.last = now;
        let time = float(now.saturating_sub(self.first));
        self.slope.charge(time, cost, float(quota.burst()));
    }
}

impl Curve {
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
    let (units, period) = units(interval, like);
    format!("{units}/{}", period.unit())
}

/// The units and the period of that rate.
fn units(interval: f64, like: Period) -> (u64, Period) {
    let periods = [Period::Second, Period::Minute, Period::Hour, Period::Day];
    // Buckets refill by whole nanoseconds, rounded up. What doubles leave of a whole number is no nanosecond less.
    let interval = whole((interval * (1.0 + 1e-12)).floor().max(1.0));
    let mut found = (1, like);
    for period in periods.into_iter().skip_while(|period| *period != like) {
        let units = period.nanos().div_ceil(interval);
        found = (units, period);
        if units >= 50 {
            break;
        }
    }
    found
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
                now = now.saturating_add(random.u64(..4 * SECOND));
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
                .for_each(|(now, cost)| demand.charge(tier.quota, *now, *cost));
            let burst = tier.burst_as_written(&demand);
            let mut curve = Curve::new(requests[0].0);
            requests
                .iter()
                .for_each(|(now, cost)| curve.charge(&tier, *now, *cost));
            // The fifth point is the rate as written.
            assert_eq!(tier.burst(&curve, 4), burst);
            assert_eq!(refusals(quota(60, burst), &requests), 0, "{burst}");
            assert_ne!(refusals(quota(60, burst - 1), &requests), 0, "{burst}");
        }
    }

    #[test]
    fn the_burst_of_each_rate_is_the_smallest_that_refuses_nothing_at_that_rate() {
        for seed in 0..50 {
            let requests = requests(seed);
            let tier = Tier::new(quota(7, 5));
            let mut curve = Curve::new(requests[0].0);
            requests
                .iter()
                .for_each(|(now, cost)| curve.charge(&tier, *now, *cost));
            for point in 0..POINTS {
                let text = rate(tier.interval(point), Period::Minute);
                let burst = tier.burst(&curve, point);
                let (units, period) = units(tier.interval(point), Period::Minute);
                assert_eq!(text, format!("{units}/{}", period.unit()));
                let of = |burst| Quota::new(Rate::new(units, period).unwrap(), burst).unwrap();
                assert_eq!(refusals(of(burst), &requests), 0, "{text} burst {burst}");
                if burst > 1 {
                    assert_ne!(
                        refusals(of(burst - 1), &requests),
                        0,
                        "{text} burst {burst}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_rate_is_enough_and_a_slower_one_is_not() {
        for seed in 0..50 {
            let requests = requests(seed);
            let burst = 20;
            let tier = Tier::new(quota(60, burst));
            let mut demand = Demand::new(requests[0].0);
            requests
                .iter()
                .for_each(|(now, cost)| demand.charge(tier.quota, *now, *cost));
            let text = rate(1.0 / demand.slope().rate(), Period::Day);
            let units: u64 = text.strip_suffix("/day").unwrap().parse().unwrap();
            let per_day =
                |units| Quota::new(Rate::new(units, Period::Day).unwrap(), burst).unwrap();
            assert_eq!(refusals(per_day(units), &requests), 0, "{units}");
            assert_ne!(refusals(per_day(units - 2), &requests), 0, "{units}");
        }
    }

    #[test]
    fn where_too_many_come_at_once_no_rate_is_enough() {
        let tier = Tier::new(quota(60, 5));
        let mut demand = Demand::new(0);
        (0..6).for_each(|_| demand.charge(tier.quota, 0, 1));
        assert_eq!(demand.slope().rate(), f64::INFINITY);
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
