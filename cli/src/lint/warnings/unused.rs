//! Limits that are checked on no request.

use tidegate_core::policy::{LimitId, Mistake, Policy};

use super::{key, warning};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let used = |id: LimitId| {
        policy.always.contains(&id) || policy.routes.iter().any(|route| route.limits.contains(&id))
    };
    policy
        .limits
        .iter()
        .enumerate()
        .filter(|(index, _)| !used(LimitId(*index)))
        .map(|(_, limit)| {
            let name = &limit.name;
            warning(
                &[key("limits"), key(name)],
                format!(
                    "nothing is limited by `{name}`; name it in `always` or in the `limits` of a route, or take it out"
                ),
            )
        })
        .collect()
}
