//! The routes as a list: which are there, and which comes first.

use tidegate_core::policy::{Policy, Route, Step};

use super::change::{Changes, Kind, at};
use super::{route, words};
use crate::lint::containment::{covers, meet};

pub(super) fn compare(old: &Policy, new: &Policy, changes: &mut Changes) {
    for (index, route) in old.routes.iter().enumerate() {
        if find(new, &route.name).is_none() {
            gone(new, route, index, changes);
        }
    }
    for (index, route) in new.routes.iter().enumerate() {
        match find(old, &route.name) {
            Some((_, before)) => {
                route::compare((old, before), (new, route), &place(index), changes);
            }
            None => added(old, new, route, index, changes),
        }
    }
    reordered(old, new, changes);
}

fn find<'p>(policy: &'p Policy, name: &str) -> Option<(usize, &'p Route)> {
    let mut routes = policy.routes.iter().enumerate();
    routes.find(|(_, route)| route.name == name)
}

fn place(index: usize) -> Vec<Step> {
    let mut place = at(&["routes"]);
    place.push(Step::Index(index));
    place
}

/// The route that takes all requests of `route`, if a single one does.
fn taker<'p>(routes: &'p [Route], route: &Route) -> Option<&'p Route> {
    let methods: Vec<Option<&str>> = match route.matcher.methods.as_slice() {
        [] => vec![None],
        methods => methods.iter().map(|method| Some(method.as_str())).collect(),
    };
    let first = routes
        .iter()
        .find(|other| meet(&other.matcher, &route.matcher))?;
    methods
        .iter()
        .all(|method| covers(&first.matcher, &route.matcher, *method))
        .then_some(first)
}

fn gone(new: &Policy, route: &Route, index: usize, changes: &mut Changes) {
    let (name, takes) = (&route.name, route::takes(&route.matcher));
    let meets = |other: &&Route| meet(&other.matcher, &route.matcher);
    let now = match (taker(&new.routes, route), new.routes.iter().find(meets)) {
        (Some(taker), _) => format!("decided by the route `{}`", taker.name),
        (None, Some(_)) => "decided by whichever route takes them, or by none".to_owned(),
        (None, None) => "decided by no route, only by the limits of every request".to_owned(),
    };
    changes.add(
        Kind::Gone,
        &place(index),
        format!(
            "requests of the route `{name}` ({takes}): {now}{}",
            held(route)
        ),
    );
}

/// What a route held that is gone with it.
fn held(route: &Route) -> &'static str {
    if route.idempotency.is_some() {
        "; what is sent again runs again"
    } else {
        ""
    }
}

fn added(old: &Policy, new: &Policy, route: &Route, index: usize, changes: &mut Changes) {
    let (name, takes) = (&route.name, route::takes(&route.matcher));
    let after = new
        .routes
        .get(index.saturating_add(1)..)
        .unwrap_or_default();
    let from: Vec<&str> = after
        .iter()
        .filter(|other| find(old, &other.name).is_some() && meet(&other.matcher, &route.matcher))
        .map(|other| other.name.as_str())
        .collect();
    let before = match (taker(&old.routes, route), from.as_slice()) {
        (Some(taker), _) => format!("; the route `{}` decided about them before", taker.name),
        (None, []) => String::new(),
        (None, names) => format!("; it takes some from {}", words::list(names)),
    };
    let own = words::limits(new, &route.limits);
    let limits = if own.is_empty() {
        "no limits of its own".to_owned()
    } else {
        format!("limited by {}", words::list(&own))
    };
    changes.add(
        Kind::New,
        &place(index),
        format!("requests {takes}: a route `{name}` of their own, {limits}{before}"),
    );
}

/// Routes that meet, and changed places.
fn reordered(old: &Policy, new: &Policy, changes: &mut Changes) {
    for (index, first) in new.routes.iter().enumerate() {
        let Some((first_before, _)) = find(old, &first.name) else {
            continue;
        };
        for second in new.routes.iter().skip(index.saturating_add(1)) {
            let Some((second_before, _)) = find(old, &second.name) else {
                continue;
            };
            if second_before < first_before && meet(&first.matcher, &second.matcher) {
                let (first, second) = (&first.name, &second.name);
                changes.add(
                    Kind::Changed,
                    &place(index),
                    format!("requests that `{second}` and `{first}` both take: `{first}` decides, and no longer `{second}`"),
                );
            }
        }
    }
}
