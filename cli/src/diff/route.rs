//! One route.

use tidegate_core::policy::{
    Anonymous, Cost, Mode, PathPattern, Policy, Route, RouteMatch, Segment, Step,
};

use super::change::{Changes, Kind, inside};
use super::names::Names;
use super::{cache, limit, once, words};

/// What a policy says of requests that no route takes.
pub(super) const NONE: Route = Route {
    name: String::new(),
    matcher: RouteMatch {
        methods: Vec::new(),
        path: None,
        host: None,
        headers: Vec::new(),
    },
    limits: Vec::new(),
    cost: Cost::Fixed(1),
    anonymous: Anonymous::Address,
    mode: None,
    cache: None,
    idempotency: None,
};

/// Compares what two routes say of the same requests.
pub(super) fn compare(
    whose: &str,
    (old, before): (&Policy, &Route),
    (new, after): (&Policy, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let Route {
        name: _,
        // Which requests these are is told elsewhere.
        matcher: _,
        limits: _,
        cost,
        anonymous,
        mode,
        cache: old_cache,
        idempotency: _,
    } = before;
    own_limits(whose, (old, before), (new, after), place, changes);
    if *cost != after.cost {
        self::cost(whose, cost, &after.cost, place, changes);
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
            format!("{whose}, callers without an account: {old} -> {new}"),
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
        changes.add(kind, &inside(place, "mode"), format!("{whose}: {text}"));
    }
    cache::compare(
        whose,
        (old_cache.as_ref(), after.cache.as_ref()),
        new.caches(),
        place,
        changes,
    );
    once::compare(whose, (before, after), place, changes);
}

/// The limits that are asked beside those of every request. One that only one policy has, and one that comes to be asked of every
/// request, or is not any more, is told of where that is.
fn own_limits(
    whose: &str,
    (old, before): (&Policy, &Route),
    (new, after): (&Policy, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let old_names = limit::shared((old, new), words::limits(old, &before.limits));
    let new_names = limit::shared((old, new), words::limits(new, &after.limits));
    let names = Names::compare(&old_names, &new_names);
    let place = inside(place, "limits");
    let always = |policy: &Policy, name| words::limits(policy, &policy.always).contains(&name);
    for name in names.gone.into_iter().filter(|name| !always(new, name)) {
        let (kind, text) = limit::leaves(old, name);
        changes.add(kind, &place, format!("{whose}: {text}"));
    }
    for name in names.added.into_iter().filter(|name| !always(old, name)) {
        let (kind, text) = limit::comes(new, name);
        changes.add(kind, &place, format!("{whose}: {text}"));
    }
    if let Some(order) = names.reordered {
        let order = words::list(&order);
        changes.add(
            Kind::Changed,
            &place,
            format!(
                "{whose}: limits are asked in the order {order}; the first that refuses is told of"
            ),
        );
    }
}

fn cost(whose: &str, old: &Cost, new: &Cost, place: &[Step], changes: &mut Changes) {
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
        format!("{whose}: a request costs {old} -> {new}"),
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
