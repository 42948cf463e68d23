//! Routes whose copies nobody keeps apart while the policy is a canary.

use tidegate_core::policy::{Mistake, Policy, Step};

use super::{key, warning};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    if policy.canary.is_none() {
        return Vec::new();
    }
    let routes = policy.routes.iter().enumerate();
    let cached = routes.filter(|(_, route)| route.cache.is_some());
    cached
        .map(|(index, _)| {
            warning(
                &[key("routes"), Step::Index(index), key("cache")],
                "a canary leaves caches alone, so this is not in effect; mount the canary before the policy in force, or leave out `canary`".to_owned(),
            )
        })
        .collect()
}
