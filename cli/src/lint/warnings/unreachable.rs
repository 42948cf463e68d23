//! Routes that no request takes, because routes before them take all of theirs.

use tidegate_core::policy::{Mistake, Policy, Route, Step};

use super::{key, warning};
use crate::lint::containment::covers;

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let routes = policy.routes.iter().enumerate();
    routes
        .filter_map(|(index, route)| {
            let takers = takers(policy.routes.get(..index)?, route)?;
            let takers = match takers.as_slice() {
                [one] => format!("`{one}`, which stands before it, takes"),
                [rest @ .., last] => format!(
                    "`{}` and `{last}`, which stand before it, take",
                    rest.join("`, `")
                ),
                [] => return None,
            };
            let name = &route.name;
            Some(warning(
                &[key("routes"), Step::Index(index)],
                format!(
                    "no request reaches `{name}`: {takers} all of its requests; put `{name}` first, or take it out"
                ),
            ))
        })
        .collect()
}

/// The routes that take all requests of `route`, each method by one of them; `None` if some are left.
pub(super) fn takers<'p>(before: &'p [Route], route: &Route) -> Option<Vec<&'p str>> {
    let methods: Vec<Option<&str>> = match route.matcher.methods.as_slice() {
        [] => vec![None],
        methods => methods.iter().map(|method| Some(method.as_str())).collect(),
    };
    let mut takers: Vec<&str> = Vec::new();
    for method in methods {
        let taker = before
            .iter()
            .find(|earlier| covers(&earlier.matcher, &route.matcher, method))?;
        if !takers.contains(&taker.name.as_str()) {
            takers.push(&taker.name);
        }
    }
    Some(takers)
}
