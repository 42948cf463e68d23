//! Limits of `always` that stand behind narrower ones.

use tidegate_core::policy::{Mistake, Policy, Step};

use super::wider::{is_wider, per};
use super::{key, warning};

pub(super) fn warnings(policy: &Policy) -> Vec<Mistake> {
    let always: Vec<_> = policy
        .always
        .iter()
        .filter_map(|id| policy.limits.get(id.0))
        .collect();
    let mut warnings = Vec::new();
    for (index, limit) in always.iter().enumerate() {
        let before = always.get(..index).unwrap_or_default();
        let Some(narrow) = before.iter().find(|earlier| is_wider(limit, earlier)) else {
            continue;
        };
        let (wide, wide_per) = (&limit.name, per(limit));
        let (narrow, narrow_per) = (&narrow.name, per(narrow));
        warnings.push(warning(
            &[key("always"), Step::Index(index)],
            format!(
                "`{wide}` (per {wide_per}) stands behind the narrower `{narrow}` (per {narrow_per}), which is then told of as the one that refuses; put `{wide}` before it"
            ),
        ));
    }
    warnings
}
