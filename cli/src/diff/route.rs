//! One route.

use tidegate_core::policy::{
    Anonymous, Cost, Mode, PathPattern, Policy, Route, RouteMatch, Segment, Step,
};

use super::change::{Changes, Kind, inside};
use super::names::Names;
use super::{cache, limit, once, words};

pub(super) fn compare(
    (old, before): (&Policy, &Route),
    (new, after): (&Policy, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let Route {
        name,
        matcher,
        limits: _,
        cost,
        anonymous,
        mode,
        cache: old_cache,
        idempotency,
    } = before;
    if *matcher != after.matcher {
        let (old, new) = (takes(matcher), takes(&after.matcher));
        changes.add(
            Kind::Changed,
            &inside(place, "match"),
            format!("route `{name}`: takes requests {old} -> {new}"),
        );
    }
    own_limits((old, before), (new, after), place, changes);
    if *cost != after.cost {
        self::cost(name, cost, &after.cost, place, changes);
    }
    if *anonymous != after.anonymous {
        let kind = if rank(after.anonymous) > rank(*anonymous) {
            Kind::Stricter
        } else {
            Kind::Looser
        };
        let (old, new) = (nobody(*anonymous), nobody(after.anonymous));
        changes.add(
            kind,
            &inside(place, "anonymous"),
            format!("route `{name}`, callers without an account: {old} -> {new}"),
        );
    }
    let shadow = |mode: Option<Mode>| mode == Some(Mode::Shadow);
    if shadow(*mode) != shadow(after.mode) {
        let (kind, text) = if shadow(after.mode) {
            (
                Kind::Looser,
                "nobody is refused any more (enforce -> shadow)",
            )
        } else {
            (
                Kind::Stricter,
                "what was counted is refused (shadow -> enforce)",
            )
        };
        changes.add(
            kind,
            &inside(place, "mode"),
            format!("route `{name}`: {text}"),
        );
    }
    cache::compare(
        name,
        (old_cache.as_ref(), after.cache.as_ref()),
        new.caches(),
        place,
        changes,
    );
    once::compare(
        name,
        idempotency.as_ref(),
        after.idempotency.as_ref(),
        place,
        changes,
    );
}

/// The route's own limits. One that only one policy has is told of where that is.
fn own_limits(
    (old, before): (&Policy, &Route),
    (new, after): (&Policy, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let old_names = limit::shared((old, new), words::limits(old, &before.limits));
    let new_names = limit::shared((old, new), words::limits(new, &after.limits));
    let names = Names::compare(&old_names, &new_names);
    let (route, place) = (&after.name, inside(place, "limits"));
    for name in names.gone {
        changes.add(
            Kind::Looser,
            &place,
            format!("route `{route}`: no longer limited by `{name}`"),
        );
    }
    for name in names.added {
        changes.add(
            Kind::Stricter,
            &place,
            format!("route `{route}`: limited by `{name}`"),
        );
    }
    if let Some(order) = names.reordered {
        let order = words::list(&order);
        changes.add(
            Kind::Changed,
            &place,
            format!("route `{route}`: limits are asked in the order {order}; the first that refuses is told of"),
        );
    }
}

fn cost(name: &str, old: &Cost, new: &Cost, place: &[Step], changes: &mut Changes) {
    let kind = match (old, new) {
        (Cost::Fixed(old), Cost::Fixed(new)) if new > old => Kind::Stricter,
        (Cost::Fixed(_), Cost::Fixed(_)) => Kind::Looser,
        _ => Kind::Changed,
    };
    let shown = |cost: &Cost| match cost {
        Cost::Fixed(units) => units.to_string(),
        Cost::Header { name, default } => format!("what header `{name}` says, or {default}"),
    };
    let (old, new) = (shown(old), shown(new));
    changes.add(
        kind,
        &inside(place, "cost"),
        format!("route `{name}`: a request costs {old} -> {new}"),
    );
}

/// How strictly callers without an account are met.
const fn rank(anonymous: Anonymous) -> u8 {
    match anonymous {
        Anonymous::Allow => 0,
        Anonymous::Address => 1,
        Anonymous::Deny => 2,
    }
}

const fn nobody(anonymous: Anonymous) -> &'static str {
    match anonymous {
        Anonymous::Allow => "not asked by limits of accounts",
        Anonymous::Address => "limited by what stands in for the account",
        Anonymous::Deny => "answered with 401",
    }
}

/// The requests that a matcher takes, to be read after `requests`.
pub(super) fn takes(matcher: &RouteMatch) -> String {
    let RouteMatch {
        methods,
        path,
        host,
        headers,
    } = matcher;
    let mut words = vec![if methods.is_empty() {
        "of any method".to_owned()
    } else {
        methods.join("|")
    }];
    words.push(match path {
        None => "any path".to_owned(),
        Some(PathPattern::Exact(path)) => path.clone(),
        Some(PathPattern::Prefix(prefix)) => format!("{prefix}*"),
        Some(PathPattern::Template(segments)) => segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => format!("/{text}"),
                Segment::Any => "/{}".to_owned(),
            })
            .collect(),
    });
    words.extend(host.iter().map(|host| format!("at {host}")));
    words.extend(
        headers
            .iter()
            .map(|(name, value)| format!("with {name}: {value}")),
    );
    words.join(" ")
}
