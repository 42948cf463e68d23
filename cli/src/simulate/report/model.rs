//! The report as data: what `--format json` prints. Times are RFC 3339, lengths of time seconds.

use serde::Serialize;
use tidegate_core::ruling::Direction;

use crate::simulate::caller::Caller;

/// A report.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) policy: Simulated,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<Simulated>,
    pub(crate) input: Input,
    /// What has to be known before the figures are believed.
    pub(crate) notes: Vec<String>,
    pub(crate) totals: Totals,
    pub(crate) callers: Callers,
    /// What the log says of the limiter that ran then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<Then>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) routes: Vec<Route>,
    pub(crate) top: Vec<Top>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) timeline: Timeline,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) differences: Option<Differences>,
}

/// A policy that was simulated.
#[derive(Debug, Serialize)]
pub(crate) struct Simulated {
    pub(crate) policy: String,
    pub(crate) version: String,
    pub(crate) file: String,
    pub(crate) refused: u64,
}

/// What was played.
#[derive(Debug, Serialize)]
pub(crate) struct Input {
    /// The files, or the names of the loads.
    pub(crate) from: Vec<String>,
    pub(crate) generated: bool,
    pub(crate) lines: u64,
    pub(crate) unreadable: u64,
    pub(crate) unreadable_examples: Vec<Unreadable>,
    /// Requests that came later than could be waited for; they were played when they came.
    pub(crate) late: u64,
    pub(crate) late_by_seconds: f64,
    #[serde(skip)]
    pub(crate) late_by: u64,
    pub(crate) first: String,
    pub(crate) last: String,
    pub(crate) seconds: f64,
    #[serde(skip)]
    pub(crate) span: u64,
    /// The fields of the log, and how many requests had a value in each.
    pub(crate) fields: Vec<FieldCount>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FieldCount {
    pub(crate) field: String,
    pub(crate) key: String,
    pub(crate) present: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Unreadable {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) reason: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    /// Of the refused, those that a policy or a route in shadow lets through.
    pub(crate) shadow: u64,
    pub(crate) replayed: u64,
    pub(crate) overflows: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Callers {
    pub(crate) seen: u64,
    pub(crate) refused: u64,
    /// Whether both are counted, and not estimated from a sample.
    pub(crate) exact: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Then {
    /// Requests whose status the log has.
    pub(crate) known: u64,
    /// Those answered with a 429 then.
    pub(crate) refused: u64,
    pub(crate) refused_both_times: u64,
    /// Refused by a limit here, and let through then.
    pub(crate) refused_only_here: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Rule {
    pub(crate) rule: String,
    pub(crate) limit: bool,
    /// A limit in shadow refuses nobody; `refused` is what it would.
    pub(crate) shadow: bool,
    /// How many requests a limit was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<u64>,
    /// Alone or with others.
    pub(crate) refused: u64,
    /// Requests that it was the first to refuse: these add up.
    pub(crate) first_to_refuse: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Route {
    /// `None`: no route took them.
    pub(crate) route: Option<String>,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
}

/// One of those who were refused most.
#[derive(Debug, Serialize)]
pub(crate) struct Top {
    pub(crate) caller: Caller,
    /// Since the first refusal.
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    /// `refused` may be too large by this.
    pub(crate) refused_error: u64,
    pub(crate) first: String,
    pub(crate) last: String,
    /// The longest time from one refusal to another with nothing admitted between.
    pub(crate) longest_seconds: f64,
    pub(crate) rules: Vec<TopRule>,
    #[serde(skip)]
    pub(crate) times: (u64, u64, u64),
}

#[derive(Debug, Serialize)]
pub(crate) struct TopRule {
    pub(crate) rule: String,
    pub(crate) refused: u64,
}

/// A limit, and what would have been enough.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    pub(crate) limit: String,
    pub(crate) per: Vec<String>,
    pub(crate) shadow: bool,
    pub(crate) tiers: Vec<Tier>,
    pub(crate) mixed: Mixed,
}

/// The buckets of a limit that callers of several quotas shared, of whom it cannot be said what would have been enough.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Mixed {
    pub(crate) buckets: u64,
    /// Those that refused something.
    pub(crate) refused: u64,
}

/// The buckets of a limit that have one quota.
#[derive(Debug, Serialize)]
pub(crate) struct Tier {
    pub(crate) rate: String,
    pub(crate) burst: u64,
    /// The plans and overrides that give it; none: it is the limit's own.
    pub(crate) of: Vec<String>,
    pub(crate) buckets: u64,
    pub(crate) refused_buckets: u64,
    /// Whether every bucket was watched, and not a sample.
    pub(crate) exact: bool,
    /// What share of the buckets the figures below let through, in percent.
    pub(crate) through: f64,
    /// With the rate as written.
    pub(crate) smallest_burst: u64,
    /// With the burst as written; `None`: no rate is fast enough.
    pub(crate) smallest_rate: Option<String>,
    /// Whether nothing slower would do; else it may be a little faster than needed.
    pub(crate) smallest_rate_exact: bool,
    /// For other rates the smallest burst.
    pub(crate) curve: Vec<Point>,
    /// Whether every bucket is in the curve, and not a sample.
    pub(crate) curve_exact: bool,
    /// The rate as written, in units per second.
    #[serde(skip)]
    pub(crate) per_second: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) rate: String,
    pub(crate) burst: u64,
    /// In units per second.
    #[serde(skip)]
    pub(crate) per_second: f64,
}

/// Counts in equal spans of time.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    pub(crate) start: String,
    pub(crate) span_seconds: f64,
    pub(crate) columns: Vec<String>,
    pub(crate) spans: Vec<Vec<u64>>,
    #[serde(skip)]
    pub(crate) from: u64,
    #[serde(skip)]
    pub(crate) width: u64,
}

/// Where two policies differ.
#[derive(Debug, Serialize)]
pub(crate) struct Differences {
    pub(crate) same: u64,
    pub(crate) stricter: u64,
    pub(crate) looser: u64,
    pub(crate) other: u64,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) top: Vec<Differing>,
    pub(crate) examples: Vec<Example>,
    pub(crate) timeline: Timeline,
}

#[derive(Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) here: String,
    pub(crate) there: String,
    pub(crate) requests: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Differing {
    pub(crate) caller: Caller,
    pub(crate) stricter: u64,
    pub(crate) looser: u64,
    pub(crate) other: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Example {
    pub(crate) time: String,
    pub(crate) direction: Direction,
    pub(crate) caller: Caller,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) here: String,
    pub(crate) there: String,
}
