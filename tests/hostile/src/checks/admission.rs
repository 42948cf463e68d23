//! Nobody is admitted oftener than his limits say.
//!
//! A request was admitted after it was sent and before it reached the origin. So of any requests that reached it one after the other, all
//! were admitted between when the first of them was sent and when the last arrived: in that time there is room for a burst and what the rate
//! adds. That is the tolerance, and there is no other but [`CLOCK`].

use std::collections::BTreeMap;

use super::Broken;
use crate::history::{Kind, Micros, Past};
use crate::people::{People, Who};
use crate::policy::{self, Quota};

pub(super) const NAME: &str = "nobody is admitted too often";

/// By how much two clocks of one machine may differ, and times be rounded.
const CLOCK: Micros = 2_000;

/// How many requests at most are looked at together; a burst that is too large shows in fewer.
const MOST: usize = 2_000;

/// A request that was admitted.
#[derive(Clone, Copy, Debug)]
struct Admitted {
    number: u64,
    sent: Micros,
    arrived: Micros,
    cost: u64,
}

/// A bucket that requests are charged to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bucket {
    Tenant(usize),
    Account(Who),
    /// Of a stranger's address, where the tenant's would stand.
    Nobody(u8),
    Charges(Who, Kind),
}

pub(super) fn check(past: &Past, people: &People) -> Vec<Broken> {
    let mut buckets: BTreeMap<Bucket, (Quota, Vec<Admitted>)> = BTreeMap::new();
    for execution in &past.executions {
        let Some(told) = past.of(execution) else {
            continue;
        };
        // A route in shadow changes nothing.
        if told.kind == Kind::Tried {
            continue;
        }
        let admitted = Admitted {
            number: told.number,
            sent: told.sent,
            arrived: execution.arrived,
            cost: told.cost,
        };
        let tenant = people.tenant(told.who);
        let person = match told.who {
            Who::Account(number) => people.all.get(number),
            Who::Stranger(_) => None,
        };
        let above = match (tenant, told.who) {
            (None, Who::Stranger(address)) => Bucket::Nobody(address),
            (tenant, _) => Bucket::Tenant(tenant.unwrap_or_default()),
        };
        let mut charge = |bucket, quota| {
            let (_, all) = buckets.entry(bucket).or_insert((quota, Vec::new()));
            all.push(admitted);
        };
        charge(above, policy::of_tenant(tenant));
        charge(Bucket::Account(told.who), policy::of_account(person));
        if matches!(
            told.kind,
            Kind::Charges | Kind::Orders | Kind::Uploads | Kind::Events
        ) {
            charge(Bucket::Charges(told.who, told.kind), policy::of_charges());
        }
    }
    let faults = buckets
        .into_iter()
        .filter_map(|(bucket, (quota, mut admitted))| {
            admitted.sort_by_key(|one| one.arrived);
            let (count, room, window) = too_many(&admitted, quota)?;
            Some(Broken {
                invariant: NAME,
                what: format!("{bucket:?}: {count} units where there was room for {room}"),
                requests: window.iter().map(|one| one.number).take(8).collect(),
            })
        });
    faults.collect()
}

/// The first requests in a row that were too many, their cost, and what there was room for.
fn too_many(admitted: &[Admitted], quota: Quota) -> Option<(u64, u64, &[Admitted])> {
    for first in 0..admitted.len() {
        let (mut cost, mut sent) = (0, Micros::MAX);
        for (index, one) in admitted.iter().enumerate().skip(first).take(MOST) {
            cost += one.cost;
            sent = sent.min(one.sent);
            let time = (one.arrived + CLOCK).saturating_sub(sent);
            let room = u64::from(quota.burst) + time * u64::from(quota.per_second) / 1_000_000;
            if cost > room {
                return Some((cost, room, &admitted[first..=index]));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::made::{SECOND, executed, holds, is_broken, people, told};
    use super::*;

    /// Requests of account 1 (4 a second, burst 8), sent at these times and there a millisecond later.
    fn sent(kind: Kind, cost: u64, times: impl Iterator<Item = Micros>) -> Past {
        times.zip(1..).fold(Past::default(), |past, (at, number)| {
            let mut told = told(number, 1, kind, at);
            told.cost = cost;
            past.sent(told).ran(executed(number, at + 1_000))
        })
    }

    #[test]
    fn a_burst_is_a_burst() {
        let people = people();
        holds(&check(&sent(Kind::Plain, 1, (0..8).map(|_| 0)), &people));
        is_broken(
            &check(&sent(Kind::Plain, 1, (0..9).map(|_| 0)), &people),
            "9 units",
        );
        is_broken(
            &check(&sent(Kind::Bulk, 4, (0..3).map(|_| 0)), &people),
            "12 units",
        );
    }

    #[test]
    fn a_rate_is_a_rate_however_long() {
        let people = people();
        let every = |micros: Micros| sent(Kind::Plain, 1, (0..600).map(move |n| n * micros));
        holds(&check(&every(SECOND / 4), &people));
        is_broken(
            &check(&every(SECOND * 10 / 44), &people),
            "units where there was room",
        );
    }

    #[test]
    fn a_limit_of_a_route_is_each_routes_own() {
        let people = people();
        is_broken(
            &check(&sent(Kind::Charges, 1, (0..6).map(|_| 0)), &people),
            "Charges(Account(1), Charges)",
        );
        let charges = sent(Kind::Charges, 1, (0..3).map(|_| 0));
        let orders = (101..104).fold(charges, |past, number| {
            past.sent(told(number, 1, Kind::Orders, 0))
                .ran(executed(number, 500))
        });
        holds(&check(&orders, &people));
    }

    #[test]
    fn a_ceiling_is_for_all_of_a_tenant() {
        let people = people();
        // Each within its own: four accounts of tenant 0, 38 together.
        let numbers = (0..16).map(|n| (n, 0)).chain((16..24).map(|n| (n, 1)));
        let numbers = numbers
            .chain((24..31).map(|n| (n, 2)))
            .chain((31..38).map(|n| (n, 3)));
        let past = numbers.fold(Past::default(), |past, (number, who)| {
            past.sent(told(number, who, Kind::Plain, 0))
                .ran(executed(number, 500))
        });
        let found = check(&past, &people);
        is_broken(&found, "Tenant(0)");
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn what_is_long_on_its_way_may_have_been_admitted_before() {
        let people = people();
        // Eight at once, and eight more that were sent two seconds before those arrived.
        let past = (0..16).fold(Past::default(), |past, number| {
            let at = if number < 8 { 0 } else { 2 * SECOND };
            past.sent(told(number, 1, Kind::Plain, at))
                .ran(executed(number, 2 * SECOND + 500))
        });
        holds(&check(&past, &people));
    }

    #[test]
    fn a_route_in_shadow_is_not_held() {
        holds(&check(&sent(Kind::Tried, 1, (0..90).map(|_| 0)), &people()));
    }
}
