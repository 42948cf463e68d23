//! What a policy's author may not have meant, though Envoy would take it.

mod canary;
mod ceiling;
mod order;
mod scope;
mod strangers;
mod unreachable;
mod unused;
mod wider;

use tidegate_core::policy::{LimitId, Mistake, Pointer, Policy, Step};

/// All that deserves a look.
pub(super) fn all(policy: &Policy) -> Vec<Mistake> {
    [
        unreachable::warnings(policy),
        unused::warnings(policy),
        ceiling::warnings(policy),
        order::warnings(policy),
        scope::warnings(policy),
        strangers::warnings(policy),
        canary::warnings(policy),
    ]
    .concat()
}

/// A warning about a place.
fn warning(steps: &[Step], message: String) -> Mistake {
    Mistake {
        path: Pointer(steps.to_vec()).to_string(),
        message,
    }
}

/// A step to a member.
fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// The limits of each kind of request, in the order checked: those that no route takes, and those of each route.
fn together(policy: &Policy) -> Vec<Vec<LimitId>> {
    let routes = policy.routes.iter().map(|route| route.limits.as_slice());
    core::iter::once(&[][..])
        .chain(routes)
        .map(|own| policy.always.iter().chain(own).copied().collect())
        .collect()
}
