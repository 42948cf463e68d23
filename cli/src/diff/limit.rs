//! Limits.

use std::collections::BTreeMap;

use tidegate_core::policy::{Dimension, Limit, LimitId, Policy, Step};
use tidegate_core::quota::Quota;

use super::change::{Changes, Kind, Weight, at, inside};
use super::{quota, words};

/// Whether a policy has a limit of this name.
pub(super) fn has(policy: &Policy, name: &str) -> bool {
    policy.limits.iter().any(|limit| limit.name == name)
}

/// The names of limits that both policies have.
pub(super) fn shared<'p>((old, new): (&Policy, &Policy), mut names: Vec<&'p str>) -> Vec<&'p str> {
    names.retain(|name| has(old, name) && has(new, name));
    names
}

/// Whether a limit of a policy only counts.
fn is_in_shadow(policy: &Policy, name: &str) -> bool {
    policy
        .limit_named(name)
        .is_some_and(|(_, limit)| limit.shadow)
}

/// What becomes of requests that a limit comes to be asked about.
pub(super) fn comes(new: &Policy, name: &str) -> (Kind, String) {
    if is_in_shadow(new, name) {
        (
            Kind::Changed,
            format!("counted by `{name}`, which is in shadow"),
        )
    } else {
        (Kind::Stricter, format!("limited by `{name}`"))
    }
}

/// What becomes of requests that a limit is not asked about any more.
pub(super) fn leaves(old: &Policy, name: &str) -> (Kind, String) {
    if is_in_shadow(old, name) {
        (
            Kind::Changed,
            format!("no longer counted by `{name}`, which was in shadow"),
        )
    } else {
        (Kind::Looser, format!("no longer limited by `{name}`"))
    }
}

pub(super) fn compare_all(old: &Policy, new: &Policy, changes: &mut Changes) {
    for (index, limit) in old.limits.iter().enumerate() {
        match new.limits.iter().find(|other| other.name == limit.name) {
            Some(other) => compare(limit, other, changes),
            None => one_sided(old, limit, LimitId(index), Kind::Gone, changes),
        }
    }
    for (index, limit) in new.limits.iter().enumerate() {
        if !has(old, &limit.name) {
            one_sided(new, limit, LimitId(index), Kind::New, changes);
        }
    }
}

/// A limit that only one policy has.
fn one_sided(policy: &Policy, limit: &Limit, id: LimitId, kind: Kind, changes: &mut Changes) {
    let routes = policy
        .routes
        .iter()
        .filter(|route| route.limits.contains(&id));
    let routes: Vec<&str> = routes.map(|route| route.name.as_str()).collect();
    let everybody = policy.always.contains(&id);
    let whom = match (everybody, routes.as_slice()) {
        (true, _) => "every request".to_owned(),
        (false, []) => "no request".to_owned(),
        (false, names) => format!("requests of {}", words::list(names)),
    };
    let (name, per, worth) = (
        &limit.name,
        words::dimensions(&limit.per),
        quota::shown(limit.quota),
    );
    let (_, told) = match kind {
        Kind::New => comes(policy, name),
        _ => leaves(policy, name),
    };
    let weight = if everybody {
        Weight::Everybody
    } else {
        Weight::Some
    };
    changes.weigh(
        weight,
        kind,
        &at(&["limits", name]),
        format!("{whom}: {told}, {worth} per {per}"),
    );
}

fn compare(old: &Limit, new: &Limit, changes: &mut Changes) {
    let Limit {
        name,
        per,
        otherwise,
        // What is told of the quota says nothing beside it.
        quota: _,
        told: _,
        plans: _,
        tenant_overrides: _,
        account_overrides: _,
        shadow,
        max_keys,
        // The largest of the quotas.
        ceiling: _,
    } = old;
    let place = at(&["limits", name]);
    self::per(name, per, &new.per, changes);
    quotas(old, new, changes);
    if *otherwise != new.otherwise {
        changes.add(
            Kind::Changed,
            &inside(&place, "otherwise"),
            format!("limit `{name}`, callers of whom something is absent: told apart by {otherwise} -> {}", new.otherwise),
        );
    }
    if *shadow != new.shadow {
        let (kind, text) = if new.shadow {
            (
                Kind::Looser,
                "it refuses nobody any more (enforce -> shadow)",
            )
        } else {
            (
                Kind::Stricter,
                "it refuses what it counted (shadow -> enforce)",
            )
        };
        changes.add(
            kind,
            &inside(&place, "shadow"),
            format!("limit `{name}`: {text}"),
        );
    }
    if *max_keys != new.max_keys {
        changes.add(
            Kind::Changed,
            &inside(&place, "max_keys"),
            format!(
                "limit `{name}`: room for {max_keys} -> {} buckets; all of them start anew, full",
                new.max_keys
            ),
        );
    }
}

fn per(name: &str, old: &[Dimension], new: &[Dimension], changes: &mut Changes) {
    if old == new {
        return;
    }
    let all_in = |one: &[Dimension], other: &[Dimension]| one.iter().all(|d| other.contains(d));
    let (kind, share) = match (all_in(old, new), all_in(new, old)) {
        (true, false) => (Kind::Looser, "fewer share a bucket"),
        (false, true) => (Kind::Stricter, "more share a bucket"),
        _ => (Kind::Changed, "others share a bucket"),
    };
    let (old, new) = (words::dimensions(old), words::dimensions(new));
    changes.add(
        kind,
        &at(&["limits", name, "per"]),
        format!("limit `{name}`: a bucket per {old} -> per {new}, so {share}; all of them start anew, full"),
    );
}

/// What buckets are worth, for everybody and for those who are told apart.
fn quotas(old: &Limit, new: &Limit, changes: &mut Changes) {
    let name = &new.name;
    let place = at(&["limits", name]);
    let mut add = |place: &[Step], whose: String, (before, after): (Quota, Quota)| {
        if let Some(kind) = quota::direction(before, after) {
            let (before, after) = (quota::shown(before), quota::shown(after));
            changes.add(
                kind,
                place,
                format!("limit `{name}`, {whose}: {before} -> {after}"),
            );
        }
    };
    let special = [
        ("plans", "callers on plan", &old.plans, &new.plans),
        (
            "tenant",
            "callers of tenant",
            &old.tenant_overrides,
            &new.tenant_overrides,
        ),
        (
            "account",
            "the account",
            &old.account_overrides,
            &new.account_overrides,
        ),
    ];
    let everybody = special
        .iter()
        .all(|(_, _, old, new)| old.is_empty() && new.is_empty());
    let whose = if everybody {
        "all callers"
    } else {
        "callers without a plan or override of their own"
    };
    add(&place, whose.to_owned(), (old.quota, new.quota));
    for (key, whose, before, after) in special {
        let place = match key {
            "plans" => inside(&place, key),
            _ => inside(&inside(&place, "overrides"), key),
        };
        for value in before
            .keys()
            .chain(after.keys().filter(|value| !before.contains_key(*value)))
        {
            let place = inside(&place, value);
            let mut add =
                |which: &str, worth| add(&place, format!("{whose} `{value}`{which}"), worth);
            match (before.get(value), after.get(value)) {
                (Some(before), Some(after)) => add("", (*before, *after)),
                (Some(before), None) => {
                    for (which, now) in &otherwise(new, key, " (like others now)") {
                        add(which, (*before, *now));
                    }
                }
                (None, Some(after)) => {
                    for (which, then) in &otherwise(old, key, " (like others before)") {
                        add(which, (*then, *after));
                    }
                }
                (None, None) => {}
            }
        }
    }
}

/// What holds for callers of whom the quotas under `key` say nothing, each quota once: that of the limit for those who are like
/// `others`, and what plans and overrides say that give way to such a quota.
///
/// However many there are, a few are enough to tell that something changes: at most one of them is worth the same.
fn otherwise(limit: &Limit, key: &str, others: &str) -> Vec<(String, Quota)> {
    const MOST: usize = 8;
    let mut found = vec![(others.to_owned(), limit.quota)];
    let mut add = |which: &str, quotas: &BTreeMap<String, Quota>| {
        for (name, quota) in quotas {
            if found.len() < MOST && !found.iter().any(|(_, known)| known == quota) {
                found.push((format!(" {which} `{name}`"), *quota));
            }
        }
    };
    if key == "account" {
        add("of tenant", &limit.tenant_overrides);
    }
    if key != "plans" {
        add("on plan", &limit.plans);
    }
    found
}
