//! Cache scope.

use deserr::ValuePointerRef;

use super::dimension::{Sources, dimensions};
use super::header;
use crate::policy::document::{self, Cache as WireCache, ScopeWord, Seal};
use crate::policy::faults::Faults;
use crate::policy::{Cache, CacheBy, Dimension, OwnerRule, Scope};

pub(super) fn cache(
    wire: WireCache,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Cache> {
    let WireCache {
        scope,
        by,
        seal,
        owner_header,
    } = wire;
    let scope = match scope {
        Some(document::Scope::Word(ScopeWord::Public)) => Some(Scope::Public),
        Some(document::Scope::Dimensions(list)) => Some(Scope::Shared(dimensions(
            list,
            sources,
            at.push_key("scope"),
            faults,
        ))),
        None => {
            faults.missing(
                at,
                "scope",
                "whose callers share a copy, like `[\"tenant\"]`, or `public`",
            );
            None
        }
    };
    if scope == Some(Scope::Public) && matches!(seal, Some(Seal::Required)) {
        faults.add(
            at.push_key("seal"),
            "a copy that is `public` is nobody's and has no seal; leave it out",
        );
    }
    let owner = match owner_header {
        Some(name) => owner(&name, scope.as_ref(), at.push_key("owner_header"), faults),
        None => None,
    };
    Some(Cache {
        scope: scope?,
        by: by.map(CacheBy::from).unwrap_or_default(),
        sealed: !matches!(seal, Some(Seal::Off)),
        owner,
    })
}

/// The header in which the origin names the owner, and whose name stands there.
fn owner(
    name: &str,
    scope: Option<&Scope>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<OwnerRule> {
    let header = header::header(name, at, faults)?;
    let dimensions = match scope? {
        Scope::Public => {
            faults.add(
                at,
                "a copy that is `public` is nobody's and has no owner; leave it out",
            );
            return None;
        }
        Scope::Shared(dimensions) => dimensions,
    };
    let names = [Dimension::Tenant, Dimension::Account]
        .into_iter()
        .find(|dimension| dimensions.contains(dimension));
    if names.is_none() {
        faults.add(
            at,
            "an owner is a tenant or an account; name one of them in `scope`, or leave this out",
        );
    }
    Some(OwnerRule {
        header,
        names: names?,
    })
}

impl From<document::CacheBy> for CacheBy {
    fn from(wire: document::CacheBy) -> Self {
        match wire {
            document::CacheBy::Path => Self::Path,
            document::CacheBy::Header => Self::Header,
        }
    }
}
