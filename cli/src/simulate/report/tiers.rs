//! The rate and the burst that would have been enough, for a share of the buckets.

use std::collections::BTreeMap;

use tidegate_core::policy;
use tidegate_core::quota::{MAX_UNITS_PER_SEC, NANOS_PER_SEC, Quota};

use super::model::{Limit, Mixed, Point, Tier};
use crate::simulate::demand::{self, Curve, POINTS, rate};
use crate::simulate::number::{float, whole};
use crate::simulate::statistics::{Bucket, LimitCounts, MIXED};

/// What is said of a limit; `through` is the share of its buckets that is to be let through, in percent.
pub(super) fn limit(limit: &policy::Limit, counts: &LimitCounts, through: f64) -> Limit {
    let tiers = counts.tiers.iter().enumerate().map(|(index, tier)| {
        let buckets: Vec<_> = counts
            .buckets
            .values()
            .filter(|b| b.tier == index)
            .collect();
        let curves = counts.curves.values().filter(|(tier, _)| *tier == index);
        (
            tier,
            buckets,
            curves.map(|(_, curve)| curve).collect::<Vec<_>>(),
        )
    });
    let each = counts.buckets.each();
    let mixed = counts.buckets.values().filter(|b| b.tier == MIXED);
    let mixed = mixed.fold(Mixed::default(), |sum, bucket| Mixed {
        buckets: sum.buckets.saturating_add(each),
        refused: sum
            .refused
            .saturating_add(if bucket.refused > 0 { each } else { 0 }),
    });
    let tiers =
        tiers
            .filter(|(_, buckets, _)| !buckets.is_empty())
            .map(|(tier, buckets, curves)| Tier {
                curve: curve(tier, &curves, through),
                curve_exact: counts.curves.each() == 1,
                ..self::tier(limit, tier, &buckets, each, through)
            });
    Limit {
        limit: limit.name.clone(),
        per: limit.per.iter().map(ToString::to_string).collect(),
        shadow: limit.shadow,
        tiers: tiers.collect(),
        mixed,
    }
}

fn tier(
    limit: &policy::Limit,
    tier: &demand::Tier,
    buckets: &[&Bucket],
    each: u64,
    through: f64,
) -> Tier {
    let quota = tier.quota;
    let period = quota.rate().period();
    let count = |number: usize| {
        u64::try_from(number)
            .unwrap_or(u64::MAX)
            .saturating_mul(each)
    };
    let needed = nth(
        buckets.iter().map(|bucket| bucket.demand.slope().rate()),
        through,
    );
    let exact = buckets
        .iter()
        .all(|bucket| bucket.demand.slope().is_exact());
    let bursts = buckets
        .iter()
        .map(|bucket| float(tier.burst_as_written(&bucket.demand)));
    let smallest_burst = whole(nth(bursts, through));
    let refused = buckets.iter().filter(|b| b.refused > 0).count();
    Tier {
        rate: quota.rate().to_string(),
        burst: quota.burst(),
        of: owners(limit, quota),
        buckets: count(buckets.len()),
        refused_buckets: count(refused),
        exact: each == 1,
        through,
        // What other limits refuse is charged here too; a burst that refused nobody was enough all the same.
        smallest_burst: if refused == 0 {
            smallest_burst.min(quota.burst())
        } else {
            smallest_burst
        },
        // No faster than a policy may say.
        smallest_rate: (needed * float(NANOS_PER_SEC) <= float(MAX_UNITS_PER_SEC))
            .then(|| rate(1.0 / needed, period)),
        smallest_rate_exact: exact,
        curve: Vec::new(),
        curve_exact: true,
        per_second: float(NANOS_PER_SEC) / float(quota.interval()),
    }
}

/// The burst that each rate needs.
fn curve(tier: &demand::Tier, curves: &[&Curve], through: f64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for point in 0..POINTS {
        let interval = tier.interval(point);
        let bursts = curves.iter().map(|curve| float(tier.burst(curve, point)));
        let burst = whole(nth(bursts, through));
        let rate = rate(interval, tier.quota.rate().period());
        // Beyond the first rate at which a burst of one is enough there is nothing to see.
        let over = points
            .last()
            .is_some_and(|last| last.rate == rate || last.burst <= 1);
        if !over {
            let per_second = float(NANOS_PER_SEC) / interval;
            points.push(Point {
                rate,
                burst,
                per_second,
            });
        }
    }
    points
}

/// The smallest value that so many percent of the values do not exceed.
fn nth(values: impl Iterator<Item = f64>, percent: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let length = float(u64::try_from(values.len()).unwrap_or(u64::MAX));
    let place = whole((length * percent / 100.0 - 1e-9).ceil());
    let place = usize::try_from(place.saturating_sub(1)).unwrap_or(usize::MAX);
    values.get(place).or(values.last()).copied().unwrap_or(0.0)
}

/// The plans and overrides that give this quota.
fn owners(limit: &policy::Limit, quota: Quota) -> Vec<String> {
    if limit.quota == quota {
        return Vec::new();
    }
    let lists: [(&str, &BTreeMap<String, Quota>); 3] = [
        ("plan", &limit.plans),
        ("tenant", &limit.tenant_overrides),
        ("account", &limit.account_overrides),
    ];
    let owners = lists.into_iter().flat_map(|(kind, quotas)| {
        let own = quotas.iter().filter(move |(_, other)| **other == quota);
        own.map(move |(name, _)| format!("{kind} {name}"))
    });
    owners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_buckets_and_rounds_to_more_of_them() {
        let values = || (1..=100).map(f64::from);
        assert_eq!(nth(values(), 99.0), 99.0);
        assert_eq!(nth(values(), 100.0), 100.0);
        assert_eq!(nth(values(), 98.5), 99.0);
        assert_eq!(nth([7.0].into_iter(), 99.0), 7.0);
        assert_eq!(nth([].into_iter(), 99.0), 0.0);
    }
}
