//! Which of two limits shares its buckets among more callers.

use tidegate_core::policy::{Dimension, Limit};

/// Whether each bucket of `wide` is shared by callers who have buckets of their own in `narrow`.
///
/// An account is of one tenant and on one plan, whether or not `narrow` names them.
pub(super) fn is_wider(wide: &Limit, narrow: &Limit) -> bool {
    let account = narrow.per.contains(&Dimension::Account);
    let told = |dimension: &Dimension| {
        narrow.per.contains(dimension)
            || account && matches!(dimension, Dimension::Tenant | Dimension::Plan)
    };
    wide.per.iter().all(told) && narrow.per.iter().any(|own| !wide.per.contains(own))
}

/// The dimensions of a limit, to be read after `per`.
pub(super) fn per(limit: &Limit) -> String {
    let names: Vec<String> = limit.per.iter().map(Dimension::to_string).collect();
    names.join(", ")
}
