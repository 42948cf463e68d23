//! Dimensions, and whether callers can be told apart by them.

use deserr::ValuePointerRef;

use super::header;
use crate::policy::document::{Identity, List};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{Dimension, IdentityRules};

/// The most dimensions in one place.
pub(super) const MOST_DIMENSIONS: usize = 8;

/// Which parts of the identity have a source.
#[derive(Debug, Clone, Copy)]
pub(in crate::policy) struct Sources {
    pub(super) tenant: bool,
    pub(super) account: bool,
    pub(super) plan: bool,
}

impl Sources {
    /// Those of a policy that has been compiled.
    pub(in crate::policy) fn of_rules(rules: &IdentityRules) -> Self {
        Self {
            tenant: !rules.tenant.is_empty(),
            account: !rules.account.is_empty(),
            plan: !rules.plan.is_empty(),
        }
    }

    /// A part that has a fault counts as told: what follows from it is no news.
    pub(super) fn of(identity: Option<&Identity>, faults: &Faults) -> Self {
        let root = ValuePointerRef::Origin;
        let at = root.push_key("identity");
        let told = |list: Option<&List<_>>, key: &str| {
            list.is_some()
                || faults.within(at.push_key(key))
                || (identity.is_none() && faults.within(at))
        };
        Self {
            tenant: told(identity.and_then(|part| part.tenant.as_ref()), "tenant"),
            account: told(identity.and_then(|part| part.account.as_ref()), "account"),
            plan: told(identity.and_then(|part| part.plan.as_ref()), "plan"),
        }
    }

    /// Checks that a part of the identity can be present at all.
    pub(super) fn check(self, dimension: &Dimension, at: ValuePointerRef<'_>, faults: &mut Faults) {
        let (word, told) = match dimension {
            Dimension::Tenant => ("tenant", self.tenant),
            Dimension::Account => ("account", self.account),
            Dimension::Plan => ("plan", self.plan),
            Dimension::Address
            | Dimension::Route
            | Dimension::Method
            | Dimension::Host
            | Dimension::Header(_) => return,
        };
        if !told {
            faults.add(
                at,
                format!("`{word}` is never known; name its sources in `identity.{word}`, or use another dimension"),
            );
        }
    }
}

/// One dimension.
pub(super) fn dimension(
    text: &str,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Dimension> {
    let dimension = match text {
        "tenant" => Dimension::Tenant,
        "account" => Dimension::Account,
        "plan" => Dimension::Plan,
        "address" => Dimension::Address,
        "route" => Dimension::Route,
        "method" => Dimension::Method,
        "host" => Dimension::Host,
        _ => match text.strip_prefix("header:") {
            Some(name) => Dimension::Header(header::telling(name, at, faults)?),
            None => {
                let text = shown(text);
                faults.add(
                    at,
                    format!("`{text}` is not a dimension; write `tenant`, `account`, `plan`, `address`, `route`, `method`, `host` or `header:NAME`"),
                );
                return None;
            }
        },
    };
    sources.check(&dimension, at, faults);
    Some(dimension)
}

/// A list of dimensions: 1 to 8, none twice.
pub(super) fn dimensions(
    list: List<String>,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<Dimension> {
    let mut dimensions = Vec::new();
    if list.is_empty() {
        faults.add(at, "the list is empty; name at least one dimension");
    }
    faults.at_most(at, MOST_DIMENSIONS, list.len(), "dimensions");
    for (index, text) in list.into_iter().enumerate() {
        let at = at.push_index(index);
        let Some(text) = text else { continue };
        let Some(dimension) = dimension(&text, sources, at, faults) else {
            continue;
        };
        if dimensions.contains(&dimension) {
            let text = shown(&text);
            faults.add(at, format!("`{text}` stands here twice; keep one"));
        } else {
            dimensions.push(dimension);
        }
    }
    dimensions
}
