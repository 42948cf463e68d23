//! What one policy did to a log, counted in bounded memory.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use tidegate_core::admission::Standing;
use tidegate_core::policy::Policy;

use super::caller::Caller;
use super::demand::{Curve, Demand, Tier};
use super::heavy::Heavy;
use super::player::{Refused, Verdict};
use super::sample::Sample;
use super::timeline::Timeline;

/// How many callers are counted exactly; beyond that a sample of them is.
const MOST_CALLERS: usize = 65_536;

/// How many buckets of each limit are watched exactly.
const MOST_BUCKETS: usize = 16_384;

/// How many of them are watched at all rates.
const MOST_CURVES: usize = 1_024;

/// The columns of a timeline in front of those of the limits.
pub(crate) const ADMITTED: usize = 0;
pub(crate) const OTHER_RULES: usize = 1;
pub(crate) const LIMITS: usize = 2;

/// The status of a limiter's refusals.
const TOO_MANY: u16 = 429;

/// Everything that is counted.
pub(crate) struct Statistics {
    pub(crate) totals: Totals,
    /// By the route's index; the last is that of requests without one.
    pub(crate) routes: Vec<RouteCounts>,
    /// By the limit's index.
    pub(crate) limits: Vec<LimitCounts>,
    /// By the names of rules that are no limits.
    pub(crate) rules: BTreeMap<&'static str, Span>,
    /// How many requests of each caller were refused, if any.
    pub(crate) callers: Sample<bool>,
    pub(crate) sufferers: Heavy<Sufferer>,
    pub(crate) timeline: Timeline,
}

/// Counts of requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    /// Of those, what a policy or route in shadow let through all the same.
    pub(crate) shadow: u64,
    pub(crate) replayed: u64,
    pub(crate) overflows: u64,
    /// What the log says of the limiter that ran then.
    pub(crate) then: Then,
}

/// What the log says of refusals, beside the simulated ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Then {
    /// Requests whose status is known.
    pub(crate) known: u64,
    /// Answered with a 429.
    pub(crate) refused: u64,
    /// Of those, what a limit refuses here too.
    pub(crate) both: u64,
    /// Refused by a limit here, and answered with something else then.
    pub(crate) only_now: u64,
}

/// Counts of a route.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RouteCounts {
    pub(crate) requests: u64,
    pub(crate) refused: u64,
}

/// A count of refusals, and when the first and the last was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) count: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What a limit did.
pub(crate) struct LimitCounts {
    pub(crate) asked: u64,
    /// Whenever it refused, alone or with others; of a limit in shadow, whenever it would have.
    pub(crate) refused: Span,
    /// How often it was the first to refuse.
    pub(crate) first: u64,
    pub(crate) tiers: Vec<Tier>,
    pub(crate) buckets: Sample<Bucket>,
    /// By the same digests as the buckets: the tier, or [`MIXED`], and what it would need at other rates.
    pub(crate) curves: Sample<(usize, Curve)>,
}

/// In place of a tier: callers of several quotas shared the bucket. What one of them would have needed is then not known.
pub(crate) const MIXED: usize = usize::MAX;

/// One bucket of a limit.
pub(crate) struct Bucket {
    /// The tier of all who were asked for it, or [`MIXED`].
    pub(crate) tier: usize,
    pub(crate) refused: u64,
    pub(crate) demand: Demand,
}

/// A caller who was refused.
#[derive(Debug, Clone)]
pub(crate) struct Sufferer {
    pub(crate) caller: Caller,
    /// Requests since the first refusal, that one included.
    pub(crate) requests: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Since when nothing of theirs was admitted.
    since: Option<u64>,
    /// The longest time from one refusal to another with nothing admitted between.
    pub(crate) longest: u64,
    pub(crate) rules: SmallVec<[(Refused, u64); 2]>,
}

impl Span {
    fn count(&mut self, now: u64) {
        if self.count == 0 {
            self.first = now;
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
    }
}

fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl Statistics {
    pub(crate) fn new(policy: &Policy) -> Self {
        let limit = |_| LimitCounts {
            asked: 0,
            refused: Span::default(),
            first: 0,
            tiers: Vec::new(),
            buckets: Sample::new(MOST_BUCKETS),
            curves: Sample::new(MOST_CURVES),
        };
        Self {
            totals: Totals::default(),
            routes: vec![RouteCounts::default(); policy.routes.len().saturating_add(1)],
            limits: policy.limits.iter().map(limit).collect(),
            rules: BTreeMap::new(),
            callers: Sample::new(MOST_CALLERS),
            sufferers: Heavy::new(),
            timeline: Timeline::new(policy.limits.len().saturating_add(LIMITS)),
        }
    }

    /// Counts a verdict. `true`: the caller is refused and not known by name yet; then [`Self::suffer`] is to be told it.
    pub(crate) fn count(&mut self, verdict: &Verdict<'_>, status: u16, caller: u64, now: u64) {
        let refused = verdict.refused;
        let totals = &mut self.totals;
        increment(&mut totals.requests);
        totals.overflows = totals
            .overflows
            .saturating_add(u64::from(verdict.overflows));
        if verdict.replayed {
            increment(&mut totals.replayed);
        }
        if refused.is_some() {
            increment(&mut totals.refused);
            if verdict.shadow {
                increment(&mut totals.shadow);
            }
        }
        if status != 0 {
            let limited = matches!(refused, Some(Refused::Limit(_)));
            let then = &mut totals.then;
            increment(&mut then.known);
            if status == TOO_MANY {
                increment(&mut then.refused);
                if limited {
                    increment(&mut then.both);
                }
            } else if limited {
                increment(&mut then.only_now);
            }
        }
        let route = verdict.route.unwrap_or(self.routes.len().saturating_sub(1));
        if let Some(route) = self.routes.get_mut(route) {
            increment(&mut route.requests);
            if refused.is_some() {
                increment(&mut route.refused);
            }
        }
        let column = match refused {
            None => ADMITTED,
            Some(Refused::Rule(rule)) => {
                self.rules.entry(rule).or_default().count(now);
                OTHER_RULES
            }
            Some(Refused::Limit(limit)) => {
                if let Some(limit) = self.limits.get_mut(limit) {
                    increment(&mut limit.first);
                }
                limit.saturating_add(LIMITS)
            }
        };
        self.timeline.count(now, column);
        for standing in verdict.standings {
            if let Some(limit) = self.limits.get_mut(standing.limit.0) {
                limit.count(standing, now, verdict.cost);
            }
        }
        if let Some(seen) = self.callers.get(caller, || false) {
            *seen |= refused.is_some();
        }
        if refused.is_none()
            && !self.sufferers.is_empty()
            && let Some(sufferer) = self.sufferers.find(caller)
        {
            increment(&mut sufferer.requests);
            sufferer.since = None;
        }
    }

    /// Counts a refusal with its caller's name.
    pub(crate) fn suffer(
        &mut self,
        caller: u64,
        refused: Refused,
        now: u64,
        name: impl FnOnce() -> Caller,
    ) {
        let sufferer = self.sufferers.count(caller, || Sufferer {
            caller: name(),
            requests: 0,
            first: now,
            last: now,
            since: None,
            longest: 0,
            rules: SmallVec::new(),
        });
        increment(&mut sufferer.requests);
        sufferer.last = now;
        let since = *sufferer.since.get_or_insert(now);
        sufferer.longest = sufferer.longest.max(now.saturating_sub(since));
        match sufferer.rules.iter_mut().find(|(rule, _)| *rule == refused) {
            Some((_, count)) => increment(count),
            None => sufferer.rules.push((refused, 1)),
        }
    }
}

impl LimitCounts {
    #[inline]
    fn count(&mut self, standing: &Standing, now: u64, cost: u64) {
        increment(&mut self.asked);
        let refused = standing.refuses();
        if refused {
            self.refused.count(now);
        }
        let quota = standing.quota;
        let place = self.tiers.iter().position(|tier| tier.quota == quota);
        let place = place.unwrap_or_else(|| {
            self.tiers.push(Tier::new(quota));
            self.tiers.len().saturating_sub(1)
        });
        let key = standing.key.to_bytes();
        let digest = key.first_chunk().map_or(0, |low| u64::from_le_bytes(*low));
        let bucket = self.buckets.get(digest, || Bucket {
            tier: place,
            refused: 0,
            demand: Demand::new(now),
        });
        if let Some(bucket) = bucket {
            if bucket.tier != place {
                bucket.tier = MIXED;
            }
            bucket.refused = bucket.refused.saturating_add(u64::from(refused));
            bucket.demand.charge(quota, now, cost);
        }
        let curve = self.curves.get(digest, || (place, Curve::new(now)));
        if let (Some((of, curve)), Some(tier)) = (curve, self.tiers.get(place)) {
            if *of != place {
                *of = MIXED;
            }
            curve.charge(tier, now, cost);
        }
    }
}
