//! The slowest rate that would have refused nothing of a bucket, with its burst as written.
//!
//! Write S(t) for all that was charged up to t. A bucket that refills at rate r and holds a burst b refuses nothing as long
//! as S(j) - S(i) <= b + r * (j - i) for all i before j: so the slowest rate is the steepest line from a point (i, S(i) + b)
//! up to a point (j, S(j)). Only points on the lower convex hull of the first kind matter, only those right of where a line
//! of the rate found so far touches it, and that place only ever moves to the right: each request costs a moment, and a
//! bucket that was full at that rate begins anew.

/// How many corners of a hull are kept. Beyond, pairs of them are replaced by the corner outside of both: the rate found
/// is then a little too fast, never too slow.
const MOST: usize = 64;

/// A corner: nanoseconds after the first request, and units charged before.
type Corner = (f64, f64);

/// What is known of one bucket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slope {
    hull: Vec<Corner>,
    total: f64,
    /// The rate, in units per nanosecond.
    rate: f64,
    /// A corner was replaced: the rate may be too fast.
    above: bool,
}

impl Slope {
    /// Charges `cost` units at `time`, which is not before an earlier one, in a bucket that holds `burst`.
    #[inline]
    pub(crate) fn charge(&mut self, time: f64, cost: f64, burst: f64) {
        let before = self.total;
        self.total += cost;
        self.append((time, before));
        let over = self.total - burst;
        let Some((at, units)) = self.hull.first().copied() else {
            return;
        };
        // Where a line of the rate so far touches the hull, there is the least room for more.
        if over - units > self.rate * (time - at) {
            self.steepen(time, over);
        }
    }

    fn append(&mut self, corner: Corner) {
        let (time, units) = corner;
        if let Some((at, first)) = self.hull.first().copied()
            && units - first <= self.rate * (time - at)
        {
            // The bucket is full here at the rate so far: what came before asks for no more than that.
            self.hull.clear();
        }
        while let [.., one, other] = self.hull.as_slice()
            && !turns_up(*one, *other, corner)
        {
            self.hull.pop();
        }
        if self.hull.len() >= MOST {
            self.thin();
        }
        self.hull.push(corner);
    }

    /// Finds the steepest line from the hull to (`time`, `over`), and leaves out what lies left of where it begins.
    #[cold]
    fn steepen(&mut self, time: f64, over: f64) {
        let mut found = (self.rate, 0);
        for (index, (at, units)) in self.hull.iter().enumerate() {
            let rise = over - units;
            let slope = if time > *at {
                rise / (time - at)
            } else if rise > 0.0 {
                f64::INFINITY
            } else {
                continue;
            };
            if slope > found.0 {
                found = (slope, index);
            }
        }
        self.rate = found.0;
        self.hull.drain(..found.1);
    }

    /// Replaces pairs of corners by the one where the sides beyond them meet.
    fn thin(&mut self) {
        let mut kept = Vec::with_capacity(MOST);
        let mut rest = self.hull.as_slice();
        while let [one, two, three, four, ..] = rest {
            kept.push(*one);
            match meeting((*one, *two), (*three, *four)) {
                Some(corner) => kept.push(corner),
                None => kept.extend([*two, *three]),
            }
            rest = rest.get(3..).unwrap_or_default();
        }
        kept.extend_from_slice(rest);
        self.above = true;
        self.hull = kept;
    }

    /// The rate, in units per nanosecond; infinite where more than the burst came at once.
    pub(crate) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether nothing slower would have done.
    pub(crate) const fn is_exact(&self) -> bool {
        !self.above
    }
}

/// Whether the way over three corners turns upwards at the second.
fn turns_up(one: Corner, two: Corner, three: Corner) -> bool {
    (two.1 - one.1) * (three.0 - two.0) < (three.1 - two.1) * (two.0 - one.0)
}

/// Where two sides meet that lie one after the other on a hull.
fn meeting((a, b): (Corner, Corner), (c, d): (Corner, Corner)) -> Option<Corner> {
    let first = (b.1 - a.1) / (b.0 - a.0);
    let second = (d.1 - c.1) / (d.0 - c.0);
    let time = (c.1 - b.1 - second * (c.0 - b.0)) / (first - second) + b.0;
    let between = b.0 <= time && time <= c.0;
    between.then_some((time, first * (time - b.0) + b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs, one by one.
    fn obvious(requests: &[(f64, f64)], burst: f64) -> f64 {
        let mut rate = 0.0_f64;
        for (first, (at, _)) in requests.iter().enumerate() {
            let mut sum = -burst;
            for (time, cost) in &requests[first..] {
                sum += cost;
                if sum > 0.0 {
                    rate = rate.max(sum / (time - at));
                }
            }
        }
        rate
    }

    fn found(requests: &[(f64, f64)], burst: f64) -> Slope {
        let mut slope = Slope::default();
        requests
            .iter()
            .for_each(|(time, cost)| slope.charge(*time, *cost, burst));
        slope
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= other.abs() * 1e-9
    }

    #[test]
    fn it_is_what_all_pairs_ask_for() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut time = 0.0;
            let requests: Vec<_> = (0..200)
                .map(|_| {
                    time += f64::from(random.u32(1..1_000))
                        * if random.u8(..) < 20 { 50.0 } else { 1.0 };
                    (time, f64::from(random.u8(1..4)))
                })
                .collect();
            for burst in [3.0, 10.0, 60.0] {
                let slope = found(&requests, burst);
                assert!(slope.is_exact());
                let wanted = obvious(&requests, burst);
                assert!(
                    near(slope.rate(), wanted),
                    "{seed}: {} for {wanted}",
                    slope.rate()
                );
            }
        }
    }

    #[test]
    fn more_at_once_than_the_burst_is_beyond_any_rate() {
        let at_once = [(5.0, 1.0); 4];
        assert_eq!(found(&at_once, 3.0).rate(), f64::INFINITY);
        assert_eq!(found(&at_once, 4.0).rate(), 0.0);
    }

    #[test]
    fn a_ramp_that_has_too_many_corners_costs_little_and_is_never_too_slow() {
        // Ever faster: every request is a corner.
        let requests: Vec<_> = (0..20_000_u32)
            .map(|n| (1e9 * f64::from(n).sqrt(), 1.0))
            .collect();
        let slope = found(&requests, 500.0);
        let wanted = obvious(&requests, 500.0);
        assert!(!slope.is_exact() && slope.hull.len() <= MOST);
        assert!(
            slope.rate() >= wanted * (1.0 - 1e-9) && slope.rate() <= wanted * 1.02,
            "{} {wanted}",
            slope.rate()
        );
    }
}
