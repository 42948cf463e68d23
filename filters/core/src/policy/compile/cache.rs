//! Cache scope.

use deserr::ValuePointerRef;

use super::dimension::{Sources, dimensions};
use super::header;
use crate::policy::document::{Cache, CacheBy, Scope, ScopeWord, Seal};
use crate::policy::faults::Faults;

/// Checks a scope. Nothing is made of it yet: this version does not scope caches.
pub(super) fn check(cache: Cache, sources: Sources, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let Cache {
        scope,
        by,
        seal,
        owner_header,
    } = cache;
    match scope {
        Some(Scope::Word(ScopeWord::Public)) => {}
        Some(Scope::Dimensions(list)) => {
            dimensions(list, sources, at.push_key("scope"), faults);
        }
        None => faults.missing(
            at,
            "scope",
            "whose callers share a copy, like `[\"tenant\"]`, or `public`",
        ),
    }
    match by {
        Some(CacheBy::Path | CacheBy::Header) | None => {}
    }
    match seal {
        Some(Seal::Required | Seal::Off) | None => {}
    }
    if let Some(name) = owner_header {
        header::header(&name, at.push_key("owner_header"), faults);
    }
}
