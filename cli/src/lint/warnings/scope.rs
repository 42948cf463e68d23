//! Cache scopes that leave out what tells callers apart.

use tidegate_core::cases;
use tidegate_core::policy::{Mistake, Pointer, Policy, Step};

use super::{key, unreachable};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    // Of a route that no request reaches there is nothing to show, and that is told already.
    let reached = |warning: &Mistake| {
        !policy.routes.iter().enumerate().any(|(index, route)| {
            let place = Pointer(vec![key("routes"), Step::Index(index)]).to_string();
            let before = policy.routes.get(..index).unwrap_or_default();
            warning.path.starts_with(&format!("{place}."))
                && unreachable::takers(before, route).is_some()
        })
    };
    let mut warnings = cases::warnings(policy);
    warnings.retain(reached);
    warnings
}
