//! Ceilings that one account uses up by itself.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::policy::{Limit, LimitId, Mistake, Policy, Step};
use tidegate_core::quota::Quota;

use super::wider::{is_wider, per};
use super::{key, together, warning};

/// A caller of whom one thing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who<'p> {
    Anybody,
    Plan(&'p str),
    Tenant(&'p str),
    Account(&'p str),
}

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let mut seen = BTreeSet::new();
    let mut warnings = Vec::new();
    for ids in together(policy) {
        for wide in &ids {
            for narrow in &ids {
                if seen.insert((*wide, *narrow)) {
                    warnings.extend(pair(policy, *wide, *narrow));
                }
            }
        }
    }
    warnings
}

/// What is to be said about two limits of one request.
fn pair(policy: &Policy, wide: LimitId, narrow: LimitId) -> Vec<Mistake> {
    let (Some(wide), Some(narrow)) = (policy.limits.get(wide.0), policy.limits.get(narrow.0))
    else {
        return Vec::new();
    };
    // A limit in shadow refuses nobody.
    if wide.shadow || narrow.shadow || !is_wider(wide, narrow) {
        return Vec::new();
    }
    callers(wide, narrow)
        .into_iter()
        .filter_map(|who| below(wide, narrow, who))
        .collect()
}

/// Everybody who is told apart by either limit's plans and overrides.
fn callers<'p>(wide: &'p Limit, narrow: &'p Limit) -> BTreeSet<Who<'p>> {
    let mut callers = BTreeSet::from([Who::Anybody]);
    for limit in [wide, narrow] {
        callers.extend(limit.plans.keys().map(|name| Who::Plan(name)));
        callers.extend(limit.tenant_overrides.keys().map(|name| Who::Tenant(name)));
        callers.extend(
            limit
                .account_overrides
                .keys()
                .map(|name| Who::Account(name)),
        );
    }
    callers
}

/// What a bucket of this caller is worth.
fn quota(limit: &Limit, who: Who<'_>) -> Quota {
    let named = |quotas: &BTreeMap<String, Quota>, name: &str| quotas.get(name).copied();
    match who {
        Who::Anybody => None,
        Who::Plan(name) => named(&limit.plans, name),
        Who::Tenant(name) => named(&limit.tenant_overrides, name),
        Who::Account(name) => named(&limit.account_overrides, name),
    }
    .unwrap_or(limit.quota)
}

fn below(wide: &Limit, narrow: &Limit, who: Who<'_>) -> Option<Mistake> {
    let (ceiling, own) = (quota(wide, who), quota(narrow, who));
    // The same numbers as everybody's are told once, of everybody.
    let special = who != Who::Anybody;
    if special && ceiling == wide.quota && own == narrow.quota {
        return None;
    }
    let slower = slower(ceiling, own);
    let smaller = ceiling.burst() < own.burst();
    let (what, to) = match (slower, smaller) {
        (true, true) => ("rate and burst are", "both"),
        (true, false) => ("rate is", "the rate"),
        (false, true) => ("burst is", "the burst"),
        (false, false) => return None,
    };
    let (place, of) = place(wide, who);
    let (name, wide_per, narrow_name, narrow_per) =
        (&wide.name, per(wide), &narrow.name, per(narrow));
    Some(warning(
        &place,
        format!(
            "the {what} below that of the narrower `{narrow_name}`{of}: one bucket per {narrow_per} ({}) can use up the one per {wide_per} ({}) that others share; raise {to} of `{name}`, or lower {to} of `{narrow_name}`",
            shown(own),
            shown(ceiling),
        ),
    ))
}

/// Whether one rate is slower than another, whatever their units.
fn slower(one: Quota, other: Quota) -> bool {
    let pace = |quota: Quota, of: Quota| {
        u128::from(quota.rate().units()).saturating_mul(u128::from(of.rate().period().nanos()))
    };
    pace(one, other) < pace(other, one)
}

fn shown(quota: Quota) -> String {
    format!("{}, burst {}", quota.rate(), quota.burst())
}

/// Where the ceiling's own numbers stand, and whose they are.
fn place(wide: &Limit, who: Who<'_>) -> (Vec<Step>, String) {
    let mut place = vec![key("limits"), key(&wide.name)];
    let of = match who {
        Who::Anybody => String::new(),
        Who::Plan(name) => {
            if wide.plans.contains_key(name) {
                place.extend([key("plans"), key(name)]);
            }
            format!(" on the plan `{name}`")
        }
        Who::Tenant(name) => {
            if wide.tenant_overrides.contains_key(name) {
                place.extend([key("overrides"), key("tenant"), key(name)]);
            }
            format!(" of the tenant `{name}`")
        }
        Who::Account(name) => {
            if wide.account_overrides.contains_key(name) {
                place.extend([key("overrides"), key("account"), key(name)]);
            }
            format!(" of the account `{name}`")
        }
    };
    (place, of)
}
