//! What is counted. A metric's labels are part of its name, `NAME.policy.P.rule.R.outcome.O`, which the
//! `stats_tags` of the configurations in `envoy/` turn back into labels. All names come from the policy, so
//! there are as many as it has rules, whatever callers send.

use core::cell::RefCell;

use tidegate_core::denial::{Denial, NO_RULE, RULES};
use tidegate_core::engine::Decision;
use tidegate_core::policy::{Mode, Policy};
use tidegate_core::ruling::{Direction, Ruling};

use crate::host::{self, MetricKind};

/// The metrics of one policy, as the host numbers them.
pub(crate) struct Metrics {
    allowed: Metric,
    /// For each limit, in the policy's order.
    limits: Vec<Refusals>,
    /// For each of [`RULES`].
    rules: [Refusals; RULES.len()],
    overflows: Metric,
    store_errors: Metric,
    contended: Metric,
    seal_mismatches: Metric,
    allowed_as_canary: Metric,
    replayed: Replays,
    replays: Metric,
    replayed_errors: Metric,
    store_full: Metric,
    disagreements: Disagreements,
    untracked: Metric,
    notified: Metric,
    notify_given_up: Metric,
    /// For each limit, in the policy's order.
    occupancy: Vec<Metric>,
    store_records: Metric,
    store_bytes: Metric,
    decide_micros: Metric,
}

/// How often a policy in shadow disagreed, by rule and direction. The rules are those of two policies, so they are named
/// when they are met.
struct Disagreements {
    /// What the names of the metrics begin with.
    begin: String,
    known: RefCell<Vec<(String, Direction, Metric)>>,
}

/// The most kinds of disagreement that are counted: more than two policies have rules.
const MOST_DISAGREEMENTS: usize = 256;

/// How often a rule refused.
struct Refusals {
    refused: Metric,
    /// It would have refused, had it not been in shadow.
    shadow: Metric,
    /// It refused, for the share of a canary alone.
    canary: Metric,
}

/// How often a stored answer was sent again.
struct Replays {
    replayed: Metric,
    /// It would have been.
    shadow: Metric,
    /// It was, for the share of a canary alone.
    canary: Metric,
}

/// A metric that the host may not have taken; counting is then left out.
#[derive(Clone, Copy)]
struct Metric(Option<u32>);

impl Metric {
    fn new(kind: MetricKind, name: &str) -> Self {
        Self(host::define_metric(kind, name).ok())
    }

    fn add(self, by: u32) {
        if let Some(id) = self.0
            && by > 0
        {
            // A count that is lost is not worth a request.
            let _ = host::increment_metric(id, by);
        }
    }

    fn record(self, value: u64) {
        if let Some(id) = self.0 {
            let _ = host::record_metric(id, value);
        }
    }
}

impl Metrics {
    pub(crate) fn new(policy: &Policy) -> Self {
        let name = &policy.name;
        let decisions = |rule: &str, outcome: &str| {
            let name = format!("tidegate_decisions.policy.{name}.rule.{rule}.outcome.{outcome}");
            Metric::new(MetricKind::Counter, &name)
        };
        let as_canary = |rule: &str, outcome: &str| match policy.canary {
            Some(_) => decisions(rule, outcome),
            None => Metric(None),
        };
        let refusals = |rule: &str| Refusals {
            refused: decisions(rule, "refused"),
            shadow: decisions(rule, "shadow-refused"),
            canary: as_canary(rule, "canary-refused"),
        };
        let counter =
            |metric: &str| Metric::new(MetricKind::Counter, &format!("{metric}.policy.{name}"));
        let info = format!(
            "tidegate_policy_info.policy.{name}.version.{}",
            policy.version
        );
        Metric::new(MetricKind::Gauge, &info).record(1);
        // Only what can be there: a policy without records has no store to be full.
        let of_records = |kind, metric: &str| match policy.records() {
            true => Metric::new(kind, &format!("{metric}.policy.{name}")),
            false => Metric(None),
        };
        let of_notify = |metric: &str| match policy.notify {
            Some(_) => counter(metric),
            None => Metric(None),
        };
        Self {
            allowed: decisions(NO_RULE, "allowed"),
            limits: policy
                .limits
                .iter()
                .map(|limit| refusals(&limit.name))
                .collect(),
            rules: RULES.map(refusals),
            overflows: counter("tidegate_table_overflows"),
            store_errors: counter("tidegate_store_errors"),
            contended: counter("tidegate_swaps_given_up"),
            seal_mismatches: counter("tidegate_seal_mismatches"),
            allowed_as_canary: as_canary(NO_RULE, "canary-allowed"),
            replayed: Replays {
                replayed: decisions(NO_RULE, "replayed"),
                shadow: decisions(NO_RULE, "shadow-replayed"),
                canary: as_canary(NO_RULE, "canary-replayed"),
            },
            replays: counter("tidegate_replays"),
            replayed_errors: of_records(MetricKind::Counter, "tidegate_replayed_errors"),
            store_full: counter("tidegate_store_full"),
            disagreements: Disagreements {
                begin: format!("tidegate_shadow_disagreements.policy.{name}"),
                known: RefCell::default(),
            },
            untracked: counter("tidegate_refusals_untracked"),
            notified: of_notify("tidegate_notify_sent"),
            notify_given_up: of_notify("tidegate_notify_given_up"),
            occupancy: policy
                .limits
                .iter()
                .map(|limit| {
                    let rule = &limit.name;
                    let metric = format!("tidegate_table_occupancy.policy.{name}.rule.{rule}");
                    Metric::new(MetricKind::Gauge, &metric)
                })
                .collect(),
            store_records: of_records(MetricKind::Gauge, "tidegate_store_records"),
            store_bytes: of_records(MetricKind::Gauge, "tidegate_store_bytes"),
            decide_micros: Metric::new(
                MetricKind::Histogram,
                &format!("tidegate_decide_us.policy.{name}"),
            ),
        }
    }

    /// Counts refusals of scopes for which there was no room.
    pub(crate) fn count_untracked(&self, lost: u64) {
        self.untracked.add(u32::try_from(lost).unwrap_or(u32::MAX));
    }

    /// Counts an event that was delivered.
    pub(crate) fn count_sent(&self) {
        self.notified.add(1);
    }

    /// Counts events that were given up.
    pub(crate) fn count_given_up(&self, events: u64) {
        self.notify_given_up
            .add(u32::try_from(events).unwrap_or(u32::MAX));
    }

    /// How many of a hundred places of a limit's table are taken.
    pub(crate) fn record_occupancy(&self, limit: usize, percent: u64) {
        if let Some(metric) = self.occupancy.get(limit) {
            metric.record(percent);
        }
    }

    /// How many records there are, and how many bytes of answers if that is known.
    pub(crate) fn record_store(&self, records: u64, bytes: Option<u64>) {
        self.store_records.record(records);
        if let Some(bytes) = bytes {
            self.store_bytes.record(bytes);
        }
    }

    /// How long a decision took, in nanoseconds.
    pub(crate) fn record_decide(&self, nanos: u64) {
        self.decide_micros.record(nanos.div_ceil(1_000));
    }

    /// Counts a request of which a policy in shadow would have made something else.
    pub(crate) fn count_disagreement(&self, rule: &str, direction: Direction) {
        let Disagreements { begin, known } = &self.disagreements;
        let known = &mut *known.borrow_mut();
        let same = |kind: &&(String, Direction, Metric)| kind.0 == rule && kind.1 == direction;
        if let Some((.., metric)) = known.iter().find(same) {
            metric.add(1);
        } else if known.len() < MOST_DISAGREEMENTS {
            let name = format!("{begin}.rule.{rule}.direction.{}", direction.word());
            let metric = Metric::new(MetricKind::Counter, &name);
            metric.add(1);
            known.push((rule.to_owned(), direction, metric));
        }
    }

    /// Counts a stored answer that was sent again, and was an error of the server's: 500 or above.
    pub(crate) fn count_replayed_error(&self) {
        self.replayed_errors.add(1);
    }

    /// Counts a response that was not its caller's.
    pub(crate) fn count_mismatch(&self) {
        self.seal_mismatches.add(1);
    }

    /// Counts a failure of the store after the decision.
    pub(crate) fn count_store_error(&self) {
        self.store_errors.add(1);
    }

    /// Counts a decision: as allowed, replayed or refused by what happened to the request, apart for the share of a canary;
    /// and as `shadow-refused` for the rule that would have refused it, and for each limit in shadow that would have.
    pub(crate) fn count(&self, decision: &Decision<'_>, ruling: Ruling<'_>) {
        let went_on = if decision.canary {
            self.allowed_as_canary
        } else {
            self.allowed
        };
        match (ruling, decision.mode) {
            (Ruling::Allowed, _) => went_on.add(1),
            (Ruling::Replayed, Mode::Enforce) => {
                let replayed = if decision.canary {
                    self.replayed.canary
                } else {
                    self.replayed.replayed
                };
                replayed.add(1);
                self.replays.add(1);
            }
            (Ruling::Replayed, Mode::Shadow) => {
                went_on.add(1);
                self.replayed.shadow.add(1);
            }
            (Ruling::Refused(_), mode) => {
                let refusals = decision
                    .denial
                    .as_ref()
                    .and_then(|denial| self.refusals(decision, denial));
                let metric = |of: fn(&Refusals) -> Metric| refusals.map_or(Metric(None), of);
                match mode {
                    Mode::Enforce if decision.canary => metric(|r| r.canary).add(1),
                    Mode::Enforce => metric(|r| r.refused).add(1),
                    Mode::Shadow => {
                        went_on.add(1);
                        metric(|r| r.shadow).add(1);
                    }
                }
            }
        }
        let refusing = decision
            .standings
            .iter()
            .filter(|s| s.shadow && s.refuses());
        let in_shadow = refusing
            .map(|s| s.limit)
            .chain(decision.unkeyed.iter().copied());
        for refusals in in_shadow.filter_map(|limit| self.limits.get(limit.0)) {
            refusals.shadow.add(1);
        }
        let counts = decision.counts;
        self.overflows.add(counts.overflows);
        self.store_errors.add(counts.store_errors);
        self.contended.add(counts.contended);
        self.store_full.add(counts.store_full);
    }

    fn refusals(&self, decision: &Decision<'_>, denial: &Denial) -> Option<&Refusals> {
        if let Some(limit) = decision.refusing_limit() {
            return self.limits.get(limit.0);
        }
        let rule = denial.rule();
        let (_, refusals) = RULES
            .iter()
            .zip(&self.rules)
            .find(|(name, _)| **name == rule)?;
        Some(refusals)
    }
}
