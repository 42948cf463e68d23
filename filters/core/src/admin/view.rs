//! What is shown: the members of the JSON answers.

use serde::Serialize;

use crate::gcra::{self, Check, FullAt, Level};
use crate::key::Key;
use crate::ledger::Entry;
use crate::ledger::entry::Shown;
use crate::ledger::event::Moment;
use crate::policy::Limit;
use crate::quota::{NANOS_PER_MILLI, Quota};

/// What is shown.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum View {
    Home(Box<Home>),
    Policy(About),
    Limits(Limits),
    Records(Records),
    Reset(Reset),
    Released(Released),
}

/// Everything at a glance.
#[derive(Serialize)]
pub(super) struct Home {
    pub(super) policy: About,
    pub(super) limits: Limits,
    endpoints: [&'static str; 5],
}

/// The policy, and who runs it.
#[derive(Serialize)]
pub(super) struct About {
    pub(super) policy: String,
    pub(super) version: String,
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) canary_percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) engine: String,
    pub(super) now: String,
    pub(super) limits: Vec<AboutLimit>,
    pub(super) running: Vec<Running>,
}

/// A limit as the policy has it.
#[derive(Serialize)]
pub(super) struct AboutLimit {
    pub(super) name: String,
    pub(super) per: Vec<String>,
    pub(super) rate: String,
    pub(super) burst: u64,
    pub(super) shadow: bool,
    pub(super) max_keys: u32,
}

/// How many VMs run a version.
#[derive(Serialize)]
pub(super) struct Running {
    pub(super) version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) enforced_percent: u8,
    pub(super) vms: u64,
}

/// Buckets and scopes that were refused.
#[derive(Serialize, Default)]
pub(super) struct Limits {
    pub(super) policy: String,
    pub(super) version: String,
    pub(super) now: String,
    /// By what they are sorted; `None` where they are one caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<&'static str>,
    /// Who was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Vec<Scope>>,
    /// How many more scopes there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) more: Option<usize>,
    /// What is left to whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buckets: Option<Vec<Bucket>>,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
    /// Limits whose bucket cannot be told by what was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_told: Vec<NotTold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<&'static str>,
}

/// A limit whose bucket cannot be told.
#[derive(Serialize)]
pub(super) struct NotTold {
    pub(super) limit: String,
    pub(super) per: Vec<String>,
}

/// A scope that was refused.
#[derive(Serialize)]
pub(super) struct Scope {
    pub(super) rule: String,
    pub(super) enforced: bool,
    pub(super) scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    /// How often, and how often without a pause.
    pub(super) refused: u64,
    pub(super) refused_since: u64,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) since: String,
    pub(super) since_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bucket: Option<Bucket>,
}

/// A bucket of a limit.
#[derive(Serialize)]
pub(super) struct Bucket {
    pub(super) limit: String,
    pub(super) scope: String,
    pub(super) level: u64,
    pub(super) burst: u64,
    pub(super) rate: String,
    /// After how long one unit is admitted, in milliseconds, rounded up.
    pub(super) wait_ms: u64,
    pub(super) full_in_ms: u64,
    pub(super) full_at: String,
    /// It has a place of its own: what has none is full, or shares the bucket of a full set.
    pub(super) stored: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) shared: bool,
    /// It is not known what the bucket is worth to this caller: rate and burst are the limit's own.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) assumed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<String>,
    /// How often it refused, as far as that is remembered.
    pub(super) refused: u64,
}

/// Records of what was done.
#[derive(Serialize)]
pub(super) struct Records {
    pub(super) policy: String,
    pub(super) now: String,
    pub(super) records: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<&'static str>,
}

/// What is remembered of a key or an event.
#[derive(Serialize)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) state: &'static str,
    pub(super) lease_ends: String,
    pub(super) lease_over: bool,
    pub(super) ends: String,
    pub(super) fingerprint: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Answer>,
}

/// A stored answer, of which nobody is shown more.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) length: usize,
}

/// Buckets that were filled.
#[derive(Serialize)]
pub(super) struct Reset {
    pub(super) policy: String,
    pub(super) reset: Vec<Filled>,
    pub(super) note: &'static str,
}

/// A bucket that was filled.
#[derive(Serialize)]
pub(super) struct Filled {
    pub(super) limit: String,
    pub(super) scope: String,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// A record that was ended.
#[derive(Serialize)]
pub(super) struct Released {
    pub(super) policy: String,
    pub(super) id: String,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Home {
    pub(super) const fn new(policy: About, limits: Limits) -> Self {
        Self {
            policy,
            limits,
            endpoints: [
                "GET /policy",
                "GET /limits",
                "POST /limits/reset",
                "GET /records",
                "POST /records/release",
            ],
        }
    }
}

impl Scope {
    /// A scope as it is known.
    pub(super) fn of(entry: &Entry, bucket: Option<Bucket>, at: Moment) -> Self {
        Self {
            rule: entry.id.rule.clone(),
            enforced: !entry.id.shadow,
            scope: Shown(entry.id.key).to_string(),
            caller: entry.shown_caller(),
            label: entry.shown_label().map(str::to_owned),
            refused: entry.count,
            refused_since: entry.count_since(),
            first: at.shown(entry.first),
            last: at.shown(entry.last),
            since: at.shown(entry.since),
            since_ms: at.now.saturating_sub(entry.since) / NANOS_PER_MILLI,
            bucket,
        }
    }
}

impl Bucket {
    /// A bucket in a state.
    pub(super) fn of(limit: &Limit, key: Key, state: FullAt, quota: Quota, at: Moment) -> Self {
        let missing = state.0.saturating_sub(at.now);
        let wait = match gcra::check(state, at.now, quota, limit.ceiling, 1) {
            Check::Later { wait, .. } => wait,
            Check::Now { .. } | Check::Never => 0,
        };
        Self {
            limit: limit.name.clone(),
            scope: Shown(key).to_string(),
            level: Level::of(state, at.now, quota).units,
            burst: quota.burst(),
            rate: quota.rate().to_string(),
            wait_ms: wait.div_ceil(NANOS_PER_MILLI),
            full_in_ms: missing.div_ceil(NANOS_PER_MILLI),
            full_at: at.shown(state.0.max(at.now)),
            stored: false,
            shared: false,
            assumed: false,
            identity: None,
            route: None,
            refused: 0,
        }
    }
}
