//! When a canary is halted.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::Figures;
use super::outside::{Outside, float};

/// Bounds; the first that is broken halts the canary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bounds {
    /// Refusals, of a hundred decisions that were enforced for the share.
    refused: Option<f64>,
    /// Answers of 500 and above, of a hundred of the share's.
    server_errors: Option<f64>,
    /// Milliseconds that 99 of 100 requests take at most.
    p99_ms: Option<f64>,
    /// Responses that were withheld because they were not their caller's.
    seal_mismatches: Option<u64>,
}

/// A bound that was broken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Broken {
    /// Its name, as it is written.
    pub(crate) bound: &'static str,
    /// What was found.
    pub(crate) found: String,
    /// What was allowed.
    pub(crate) allowed: String,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            refused: Some(5.0),
            server_errors: Some(1.0),
            p99_ms: None,
            seal_mismatches: Some(1),
        }
    }
}

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bounds = Self {
            refused: None,
            server_errors: None,
            p99_ms: None,
            seal_mismatches: None,
        };
        for bound in text.split(',').map(str::trim) {
            let Some((name, value)) = bound.split_once('=') else {
                return Err(format!(
                    "`{bound}` is not a bound; write a name and a value, like `refused=5%`"
                ));
            };
            let twice = match name {
                "refused" => bounds.refused.replace(percent(bound, value)?).is_some(),
                "5xx" => bounds
                    .server_errors
                    .replace(percent(bound, value)?)
                    .is_some(),
                "p99" => bounds.p99_ms.replace(millis(bound, value)?).is_some(),
                "seal-mismatches" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or_else(|| {
                        format!("`{bound}`: write a whole number from 1, like `seal-mismatches=1`")
                    })?;
                    bounds.seal_mismatches.replace(number).is_some()
                }
                _ => {
                    return Err(format!(
                        "`{name}` is not a bound; write `refused`, `5xx`, `p99` or `seal-mismatches`"
                    ));
                }
            };
            if twice {
                return Err(format!("`{name}` is there twice; write it once"));
            }
        }
        Ok(bounds)
    }
}

fn percent(bound: &str, value: &str) -> Result<f64, String> {
    let number = value
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| format!("`{bound}`: write a percentage from 0% to 100%, like `5%`"))
}

fn millis(bound: &str, value: &str) -> Result<f64, String> {
    humantime::parse_duration(value)
        .map(|time| time.as_secs_f64() * 1000.0)
        .map_err(|_| format!("`{bound}`: write a time with its unit, like `250ms`"))
}

impl Bounds {
    /// Whether answers of 500 and above are bounded.
    pub(crate) const fn server_errors(&self) -> bool {
        self.server_errors.is_some()
    }

    /// Whether the slowness of answers is bounded.
    pub(crate) const fn p99(&self) -> bool {
        self.p99_ms.is_some()
    }

    /// The first bound that these figures break. Shares and times count from `least` decisions or answers on.
    pub(crate) fn broken(&self, figures: &Figures, outside: Outside, least: u64) -> Option<Broken> {
        let judged = figures.decisions >= least;
        let refused = || {
            let allowed = self.refused.filter(|_| judged)?;
            let (part, whole) = (figures.refused, figures.decisions);
            let found = percent_of(float(part), float(whole))?;
            (found > allowed).then(|| Broken {
                bound: "refused",
                found: format!("{found:.1}% ({part} of {whole})"),
                allowed: format!("{allowed}%"),
            })
        };
        let failed = || {
            let allowed = self.server_errors.filter(|_| judged)?;
            let whole = figures.decisions.min(figures.answers);
            let others = outside.expected(figures.answers.saturating_sub(whole));
            let found = percent_of(float(figures.server_errors) - others, float(whole))?;
            (found > allowed).then(|| Broken {
                bound: "5xx",
                found: match others {
                    0.0 => format!("{found:.1}% ({} of {whole})", figures.server_errors),
                    _ => format!(
                        "{found:.1}% ({} less {others:.0} of callers outside the share, of {whole})",
                        figures.server_errors
                    ),
                },
                allowed: format!("{allowed}%"),
            })
        };
        let seal = || {
            let (allowed, found) = (self.seal_mismatches?, figures.seal_mismatches);
            (found >= allowed).then(|| Broken {
                bound: "seal-mismatches",
                found: found.to_string(),
                allowed: format!("fewer than {allowed}"),
            })
        };
        let slow = || {
            let (allowed, found) = (self.p99_ms?, figures.p99_ms?);
            (figures.answers >= least && found > allowed).then(|| Broken {
                bound: "p99",
                found: format!("{found:.0}ms"),
                allowed: format!("{allowed:.0}ms"),
            })
        };
        seal().or_else(refused).or_else(failed).or_else(slow)
    }
}

/// How many of a hundred; none of nothing.
fn percent_of(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.refused.map(|share| format!("refused={share}%")),
            self.server_errors.map(|share| format!("5xx={share}%")),
            self.p99_ms.map(|time| format!("p99={time:.0}ms")),
            self.seal_mismatches.map(|n| format!("seal-mismatches={n}")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bound,
            found,
            allowed,
        } = self;
        write!(f, "`{bound}` is {found}, allowed is {allowed}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Figures, Outside};

    fn figures() -> Figures {
        Figures {
            decisions: 1000,
            refused: 50,
            answers: 1000,
            server_errors: 10,
            seal_mismatches: 0,
            p99_ms: Some(250.0),
        }
    }

    #[test]
    fn what_is_not_given_bounds_nothing_and_the_rest_reads_back() {
        let text = "refused=5%,5xx=1.5%,p99=250ms,seal-mismatches=1";
        assert_eq!(text.parse::<Bounds>().unwrap().to_string(), text);
        assert_eq!(
            "p99=2s".parse::<Bounds>().unwrap().to_string(),
            "p99=2000ms"
        );
        assert_eq!(
            Bounds::default().to_string(),
            "refused=5%,5xx=1%,seal-mismatches=1"
        );
        for wrong in [
            "",
            "refused",
            "refused=5",
            "refused=101%",
            "refused=-1%",
            "refused=NaN%",
            "latency=1s",
            "p99=250",
            "seal-mismatches=0",
            "5xx=1%,5xx=2%",
        ] {
            assert!(wrong.parse::<Bounds>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bound_holds_until_it_is_passed() {
        let bounds: Bounds = "refused=5%,5xx=1%,p99=250ms,seal-mismatches=1"
            .parse()
            .unwrap();
        let nobody = Outside::default();
        assert_eq!(bounds.broken(&figures(), nobody, 50), None);
        let broken = |change: fn(&mut Figures), least| {
            let mut figures = figures();
            change(&mut figures);
            let broken = bounds.broken(&figures, nobody, least);
            broken.map(|broken| broken.bound)
        };
        assert_eq!(broken(|f| f.refused = 51, 50), Some("refused"));
        assert_eq!(broken(|f| f.refused = 51, 1001), None);
        assert_eq!(broken(|f| f.server_errors = 11, 50), Some("5xx"));
        assert_eq!(broken(|f| f.p99_ms = Some(251.0), 50), Some("p99"));
        // One is one too many, however few decisions there were.
        assert_eq!(
            broken(|f| f.seal_mismatches = 1, 5000),
            Some("seal-mismatches")
        );
    }

    #[test]
    fn failures_of_callers_outside_are_none_of_the_share() {
        let bounds: Bounds = "5xx=1%".parse().unwrap();
        let broken = |decisions, server_errors, before: (u64, u64)| {
            let figures = Figures {
                decisions,
                answers: 100_000,
                server_errors,
                ..Figures::default()
            };
            let (server_errors, answers) = before;
            let outside = Outside {
                answers,
                server_errors,
            };
            bounds.broken(&figures, outside, 50).is_some()
        };
        // One in a hundred callers, all of whose answers fail, whether others fail seldom or not at all.
        assert!(broken(1_000, 1_000, (0, 10_000)));
        assert!(broken(1_000, 1_050, (5, 10_000)));
        // As often as before, and as chance has it.
        assert!(!broken(1_000, 50, (5, 10_000)));
        assert!(!broken(1_000, 80, (5, 10_000)));
        // Where nobody is outside, every failure is one of the share.
        assert!(broken(100_000, 1_001, (500, 10_000)));
        assert!(!broken(100_000, 1_000, (0, 10_000)));
    }
}
