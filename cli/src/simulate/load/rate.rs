//! When requests come: the moments at which the integral of a rate reaches the next number.

use super::spec::{Arrivals, Phase};
use crate::simulate::number::float;

const DAY: f64 = 86_400.0;

/// The law of one phase; times in seconds from its beginning.
#[derive(Debug, Clone, Copy)]
enum Law {
    /// From one rate to another, evenly; the same twice is a constant rate.
    Ramp { from: f64, to: f64 },
    /// So many in all.
    Total { count: f64 },
    /// So many at once, each time.
    Bursts { size: f64, every: f64 },
    /// A mean rate, by what it swings about it, and how far into the day of its peak the phase begins.
    Daily { mean: f64, swing: f64, after: f64 },
}

/// The times of one group's requests.
#[derive(Debug)]
pub(crate) struct Times {
    /// Each with its beginning and its length.
    phases: Vec<(Law, f64, f64)>,
    phase: usize,
    /// How many come before this phase.
    before: f64,
    /// The number that is to be reached next.
    next: f64,
    arrivals: Arrivals,
    random: fastrand::Rng,
}

impl Law {
    fn of(phase: &Phase, time_of_day: f64) -> Self {
        let rate = |rate: Option<super::words::PerSecond>| rate.map_or(0.0, |rate| rate.0);
        if let (Some(size), Some(every)) = (phase.burst, phase.every) {
            return Self::Bursts {
                size: float(size),
                every: every.0,
            };
        }
        if let Some(count) = phase.total {
            return Self::Total {
                count: float(count),
            };
        }
        match phase.swing {
            Some(swing) => Self::Daily {
                mean: rate(phase.at),
                swing,
                after: time_of_day - phase.peak.map_or(DAY / 2.0, |peak| peak.0),
            },
            None => Self::Ramp {
                from: rate(phase.at.or(phase.from)),
                to: rate(phase.at.or(phase.to)),
            },
        }
    }

    /// How many come in the first `time` seconds of `lasts`.
    fn count(self, time: f64, lasts: f64) -> f64 {
        match self {
            Self::Ramp { from, to } => ((to - from) / lasts * time / 2.0 + from) * time,
            Self::Total { count } => count / lasts * time,
            Self::Bursts { size, every } => (time / every).ceil() * size,
            Self::Daily { mean, swing, after } => {
                let turn = core::f64::consts::TAU / DAY;
                let wave = (turn * (after + time)).sin() - (turn * after).sin();
                (wave / turn * swing + time) * mean
            }
        }
    }

    /// When the count reaches `number`; at or after `lasts` if it does not within the phase.
    fn time(self, number: f64, lasts: f64) -> f64 {
        match self {
            Self::Ramp { from, to } => {
                let slope = (to - from) / lasts;
                let root = (2.0 * slope).mul_add(number, from * from);
                if root < 0.0 {
                    return f64::INFINITY;
                }
                let below = from + root.sqrt();
                if number <= 0.0 && from > 0.0 {
                    0.0
                } else {
                    2.0 * number / below
                }
            }
            Self::Total { count } => number * lasts / count,
            Self::Bursts { size, every } => (number / size).floor() * every,
            Self::Daily { .. } => {
                if self.count(lasts, lasts) <= number {
                    return lasts;
                }
                let (mut low, mut high) = (0.0, lasts);
                for _ in 0..64 {
                    let middle = (low + high) / 2.0;
                    if self.count(middle, lasts) < number {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                high
            }
        }
    }
}

impl Times {
    /// The times of a group whose load begins at this second of the day.
    pub(crate) fn new(phases: &[Phase], arrivals: Arrivals, time_of_day: f64, seed: u64) -> Self {
        let mut begin = 0.0;
        let phases = phases.iter().map(|phase| {
            let law = Law::of(phase, (time_of_day + begin) % DAY);
            let one = (law, begin, phase.lasts.0);
            begin += phase.lasts.0;
            one
        });
        let mut times = Self {
            phases: phases.collect(),
            phase: 0,
            before: 0.0,
            next: 0.0,
            arrivals,
            random: fastrand::Rng::with_seed(seed),
        };
        if arrivals == Arrivals::Random {
            times.next = times.gap();
        }
        times
    }

    /// About how many there are.
    pub(crate) fn total(&self) -> f64 {
        self.phases
            .iter()
            .map(|(law, _, lasts)| law.count(*lasts, *lasts))
            .sum()
    }

    /// How much further the count is at the next request.
    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Even => 1.0,
            // Between independent arrivals of rate 1 lies an exponential time; 1 - f64() is never 0.
            Arrivals::Random => -(1.0 - self.random.f64()).ln(),
        }
    }
}

impl Iterator for Times {
    /// In seconds from the beginning of the load.
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        loop {
            let (law, begin, lasts) = *self.phases.get(self.phase)?;
            let time = law.time((self.next - self.before).max(0.0), lasts);
            if time < lasts {
                self.next += self.gap();
                return Some(begin + time);
            }
            self.before += law.count(lasts, lasts);
            self.phase = self.phase.saturating_add(1);
            // What is left of a number when a phase ends goes on in the next; a billionth is rounding.
            if (self.next - self.before).abs() < 1e-6 {
                self.next = self.before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: &str) -> Vec<f64> {
        let phases: Vec<Phase> = serde_json::from_str(rate).unwrap();
        Times::new(&phases, Arrivals::Even, 0.0, 1).collect()
    }

    #[test]
    fn a_constant_rate_is_even_and_a_total_is_met_to_the_last_request() {
        assert_eq!(
            times(r#"[{"for": "2s", "at": "2/s"}]"#),
            [0.0, 0.5, 1.0, 1.5]
        );
        assert_eq!(times(r#"[{"for": "11h", "total": 487195}]"#).len(), 487_195);
        assert_eq!(
            times(r#"[{"for": "3s", "burst": 2, "every": "2s"}]"#),
            [0.0, 0.0, 2.0, 2.0]
        );
        assert_eq!(
            times(r#"[{"for": "1m", "at": "0/s"}, {"for": "1s", "at": "1/s"}]"#),
            [60.0]
        );
    }

    #[test]
    fn a_ramp_has_the_area_under_it() {
        let found = times(
            r#"[{"for": "60s", "at": "40/s"}, {"for": "90s", "from": "40/s", "to": "1600/s"}]"#,
        );
        assert_eq!(found.len(), 40 * 60 + 820 * 90);
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
        let half = found.iter().filter(|time| **time < 105.0).count();
        // In the first 45 s the mean is 430/s.
        assert_eq!(half, 2_400 + 430 * 45);
        assert_eq!(
            times(r#"[{"for": "10s", "from": "10/s", "to": "0/s"}]"#).len(),
            50
        );
    }

    #[test]
    fn a_day_swings_about_its_mean_and_peaks_when_it_says() {
        let found = times(r#"[{"for": "24h", "at": "1/s", "swing": 0.8, "peak": "14h"}]"#);
        assert_eq!(found.len(), 86_400);
        let within = |hour: f64| {
            found
                .iter()
                .filter(|t| (**t / 3600.0 - hour).abs() < 0.5)
                .count()
        };
        // 1.8/s at the peak and 0.2/s twelve hours away, a little less and more in the hour around.
        assert!((6_400..=6_480).contains(&within(14.0)), "{}", within(14.0));
        assert!((720..=760).contains(&within(2.0)), "{}", within(2.0));
    }

    #[test]
    fn chance_keeps_the_mean_and_the_seed_decides() {
        let phases: Vec<Phase> = serde_json::from_str(r#"[{"for": "1h", "at": "10/s"}]"#).unwrap();
        let draw = |seed| Times::new(&phases, Arrivals::Random, 0.0, seed).collect::<Vec<_>>();
        // The deviation is the root of the mean, 190: five of them.
        assert!(
            (35_050..36_950).contains(&draw(1).len()),
            "{}",
            draw(1).len()
        );
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
