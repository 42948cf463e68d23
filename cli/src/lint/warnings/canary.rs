//! Routes whose copies nobody keeps apart while the policy is a canary, and a canary that is everybody.

use tidegate_core::policy::{Mistake, Policy, Step};

use super::{key, warning};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let Some(canary) = &policy.canary else {
        return Vec::new();
    };
    if canary.percent == 100 {
        return vec![warning(
            &[key("canary"), key("percent")],
            "a canary of 100 is enforced for everybody, and still leaves caches alone and makes no call detached; remove `canary`".to_owned(),
        )];
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
