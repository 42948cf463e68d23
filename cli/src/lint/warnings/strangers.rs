//! Limits by which all strangers share one bucket, so that one of them can use it up for all.

use tidegate_core::policy::{Anonymous, Dimension, Limit, LimitId, Mistake, Policy};

use super::{key, warning};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let limits = policy.limits.iter().enumerate();
    limits
        .filter(|(index, limit)| shares(limit) && !all_are_known(policy, LimitId(*index), limit))
        .map(|(_, limit)| {
            let (name, otherwise) = (&limit.name, &limit.otherwise);
            warning(
                &[key("limits"), key(name), key("otherwise")],
                format!(
                    "`{otherwise}` is the same for all strangers, who so share one bucket of `{name}`, and one of them can use it up; write `address`"
                ),
            )
        })
        .collect()
}

/// Whether callers of whom a dimension is absent are told apart by nothing that is their own.
fn shares(limit: &Limit) -> bool {
    let same = matches!(
        limit.otherwise,
        Dimension::Route | Dimension::Method | Dimension::Host
    );
    same && !limit.per.contains(&Dimension::Address) && limit.per.iter().any(may_be_absent)
}

/// Whether each request that the limit is asked for has an account, and nothing else of it can be absent.
fn all_are_known(policy: &Policy, id: LimitId, limit: &Limit) -> bool {
    let mut absent = limit.per.iter().filter(|one| may_be_absent(one));
    let routes = policy.routes.iter();
    absent.all(|dimension| *dimension == Dimension::Account)
        && !policy.always.contains(&id)
        && routes
            .filter(|route| route.limits.contains(&id))
            .all(|route| route.anonymous == Anonymous::Deny)
}

const fn may_be_absent(dimension: &Dimension) -> bool {
    match dimension {
        Dimension::Tenant | Dimension::Account | Dimension::Plan | Dimension::Header(_) => true,
        Dimension::Address | Dimension::Route | Dimension::Method | Dimension::Host => false,
    }
}
