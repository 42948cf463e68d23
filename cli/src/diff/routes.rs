//! The routes as a list: which are there, and which comes first.

use tidegate_core::policy::{Policy, Route, Step};

use super::change::{Changes, Kind, at, inside};
use super::{route, words};
use crate::lint::containment::{covers, meet};

pub(super) fn compare(old: &Policy, new: &Policy, changes: &mut Changes) {
    for (index, route) in old.routes.iter().enumerate() {
        if find(new, &route.name).is_none() {
            gone((old, index, route), new, changes);
        }
    }
    for (index, route) in new.routes.iter().enumerate() {
        match find(old, &route.name) {
            Some((_, before)) => stayed((old, before), (new, route), &place(index), changes),
            None => added(old, (new, index, route), changes),
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

/// A route that both have.
fn stayed(
    (old, before): (&Policy, &Route),
    (new, after): (&Policy, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let whose = format!("route `{}`", after.name);
    if before.matcher != after.matcher {
        let takes = (route::takes(&before.matcher), route::takes(&after.matcher));
        changes.add(
            Kind::Changed,
            &inside(place, "match"),
            format!("{whose}: takes requests {} -> {}", takes.0, takes.1),
        );
    }
    route::compare(&whose, (old, before), (new, after), place, changes);
}

/// Who takes the requests of a route in a policy that does not have it.
struct Others<'p> {
    /// In their order.
    routes: Vec<&'p Route>,
    /// Whether the last takes all that the others leave.
    all: bool,
}

impl<'p> Others<'p> {
    /// Those of `policy` in place of the route at an index of `own`. Routes that stand before it there go on taking what is theirs.
    fn of(own: &Policy, index: usize, route: &Route, policy: &'p Policy) -> Self {
        let methods: Vec<Option<&str>> = match route.matcher.methods.as_slice() {
            [] => vec![None],
            methods => methods.iter().map(|method| Some(method.as_str())).collect(),
        };
        let before = own.routes.get(..index).unwrap_or_default();
        let stays = |other: &Route| before.iter().any(|route| route.name == other.name);
        let mut others = Self {
            routes: Vec::new(),
            all: false,
        };
        for other in &policy.routes {
            if stays(other) || !meet(&other.matcher, &route.matcher) {
                continue;
            }
            others.routes.push(other);
            let mut methods = methods.iter();
            if methods.all(|method| covers(&other.matcher, &route.matcher, *method)) {
                others.all = true;
                break;
            }
        }
        others
    }

    /// The one that takes them all, if there is one.
    fn only(&self) -> Option<&'p Route> {
        match self.routes.as_slice() {
            [only] if self.all => Some(only),
            _ => None,
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self
            .routes
            .iter()
            .map(|route| route.name.as_str())
            .collect();
        words::list(&names)
    }
}

fn gone((old, index, route): (&Policy, usize, &Route), new: &Policy, changes: &mut Changes) {
    let (name, takes) = (&route.name, route::takes(&route.matcher));
    let others = Others::of(old, index, route, new);
    let now = match (others.only(), others.routes.is_empty()) {
        (Some(only), _) => format!("decided by the route `{}`", only.name),
        (None, true) => "decided by no route, only by the limits of every request".to_owned(),
        (None, false) if others.all => {
            format!("decided by {}, whichever takes them", others.names())
        }
        (None, false) => format!("decided by {}, or by no route", others.names()),
    };
    let place = place(index);
    changes.add(
        Kind::Gone,
        &place,
        format!("requests of the route `{name}` ({takes}): {now}"),
    );
    for other in &others.routes {
        let whose = match others.only() {
            Some(_) => format!("requests of the route `{name}`"),
            None => format!("requests of the route `{name}` that `{}` takes", other.name),
        };
        route::compare(&whose, (old, route), (new, other), &place, changes);
    }
    if !others.all {
        let whose = format!("requests of the route `{name}` that none takes");
        route::compare(&whose, (old, route), (new, &route::NONE), &place, changes);
    }
}

fn added(old: &Policy, (new, index, route): (&Policy, usize, &Route), changes: &mut Changes) {
    let (name, takes) = (&route.name, route::takes(&route.matcher));
    let others = Others::of(new, index, route, old);
    let before = match (others.only(), others.routes.is_empty()) {
        (Some(only), _) => format!("; the route `{}` decided about them before", only.name),
        (None, true) => String::new(),
        (None, false) => format!("; it takes some from {}", others.names()),
    };
    let place = place(index);
    changes.add(
        Kind::New,
        &place,
        format!("requests {takes}: a route `{name}` of their own{before}"),
    );
    for other in &others.routes {
        // Of what a route leaves that is gone, it is told there.
        if find(new, &other.name).is_none() {
            continue;
        }
        let whose = match others.only() {
            Some(_) => format!("requests of the route `{name}`"),
            None => format!("requests that `{name}` takes from `{}`", other.name),
        };
        route::compare(&whose, (old, other), (new, route), &place, changes);
    }
    if !others.all {
        let whose = if others.routes.is_empty() {
            format!("requests of the route `{name}`")
        } else {
            format!("requests of the route `{name}` that none took")
        };
        route::compare(&whose, (old, &route::NONE), (new, route), &place, changes);
    }
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
