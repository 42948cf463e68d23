//! How long the module may tell a refused source to wait, by the rates of the policy and what it admitted.
//!
//! From outside it is known that the module looked at its clock between when a request was written and when its answer was read. So a
//! bucket's state lies between two, and so does the wait: no farther apart than two requests were on their way, however many came between.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::plan::Delivery;
use crate::run::Span;

/// What the policy gives: units a minute, and how many at once. Each delivery costs one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    pub(super) per_minute: u32,
    pub(super) burst: u32,
}

/// The quotas of policies/webhooks: for each source, and for all of a tenant.
pub(super) const SOURCE: Quota = Quota {
    per_minute: 30,
    burst: 4,
};
pub(super) const CEILING: Quota = Quota {
    per_minute: 60,
    burst: 8,
};

/// Which limit, and whose bucket of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    Source(&'static str, usize),
    Ceiling(&'static str),
}

/// When each bucket that was charged is full again.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets(BTreeMap<Limit, Span>);

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "burst {} and {}/min", self.burst, self.per_minute)
    }
}

impl Quota {
    /// How long a unit takes to come back.
    fn interval(self) -> Duration {
        Duration::from_secs(60) / self.per_minute
    }

    /// What it admits in this time at most, if the bucket was full.
    pub(super) fn within(self, time: Duration) -> u64 {
        u64::from(self.burst) + u64::from(self.per_minute) * time.as_secs() / 60
    }
}

impl Limit {
    /// The limit of this name in the policy, for who sent the delivery.
    pub(super) fn named(name: &str, of: &Delivery) -> Option<Self> {
        match name {
            "source" => Some(Self::Source(of.tenant, of.source)),
            "tenant-ceiling" => Some(Self::Ceiling(of.tenant)),
            _ => None,
        }
    }

    const fn quota(self) -> Quota {
        match self {
            Self::Source(..) => SOURCE,
            Self::Ceiling(_) => CEILING,
        }
    }
}

impl Buckets {
    /// A delivery that was admitted at this time.
    pub(super) fn charge(&mut self, delivery: &Delivery, when: Span) {
        let Delivery { tenant, source, .. } = *delivery;
        for limit in [Limit::Source(tenant, source), Limit::Ceiling(tenant)] {
            let full = self.0.entry(limit).or_default();
            full.from = full.from.max(when.from) + limit.quota().interval();
            full.to = full.to.max(when.to) + limit.quota().interval();
        }
    }

    /// The milliseconds, rounded up, that a delivery may be told to wait that was refused at this time.
    pub(super) fn waits(&self, limit: Limit, when: Span) -> RangeInclusive<u64> {
        let full = self.0.get(&limit).copied().unwrap_or_default();
        let quota = limit.quota();
        let wait = |full: Duration, now: Duration| {
            let needed = full.max(now) + quota.interval();
            let wait = needed.saturating_sub(now + quota.interval() * quota.burst);
            u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
        };
        wait(full.from, when.to).max(1)..=wait(full.to, when.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit::Source("acme", 0);

    fn delivery() -> Delivery {
        Delivery {
            at: Duration::ZERO,
            tenant: "acme",
            source: 0,
            event: 0,
            fails: false,
        }
    }

    fn span(from: u64, to: u64) -> Span {
        Span {
            from: Duration::from_millis(from),
            to: Duration::from_millis(to),
        }
    }

    /// Buckets of a source that sent so many at this time.
    fn after(count: usize, when: Span) -> Buckets {
        let mut buckets = Buckets::default();
        (0..count).for_each(|_| buckets.charge(&delivery(), when));
        buckets
    }

    #[test]
    fn a_unit_comes_back_in_two_seconds() {
        let empty = after(4, span(10_000, 10_000));
        assert_eq!(empty.waits(LIMIT, span(10_000, 10_000)), 2_000..=2_000);
        assert_eq!(empty.waits(LIMIT, span(11_500, 11_500)), 500..=500);
        let ceiling = after(8, span(10_000, 10_000));
        let all = Limit::Ceiling("acme");
        assert_eq!(ceiling.waits(all, span(10_300, 10_300)), 700..=700);
    }

    #[test]
    fn what_is_not_known_is_as_wide_as_requests_were_on_their_way() {
        let empty = after(4, span(10_000, 10_003));
        assert_eq!(empty.waits(LIMIT, span(11_000, 11_002)), 998..=1_003);
    }

    #[test]
    fn where_there_is_room_no_wait_is_right() {
        assert!(after(3, span(0, 0)).waits(LIMIT, span(0, 0)).is_empty());
        assert!(
            after(4, span(0, 0))
                .waits(LIMIT, span(2_000, 2_001))
                .is_empty()
        );
        let nobody = Buckets::default();
        assert!(nobody.waits(LIMIT, span(5, 6)).is_empty());
    }
}
