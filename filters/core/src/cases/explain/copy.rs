//! Whose copy a request may see.

use serde::Serialize;

use super::parts::{KeyPart, Values, text};
use crate::cache::{Plan, Use, path};
use crate::cases::cache_key;
use crate::identity::Identity;
use crate::policy::{Cache, Policy, Route, Scope, SourceKind};
use crate::request::Request;

/// Whose copy it may see.
#[derive(Debug, Clone, Serialize)]
pub struct Copy {
    /// What caches are told: `scoped`, `public`, `bypass` or `off`.
    pub cache: &'static str,
    /// What its callers share.
    pub scope: Vec<KeyPart>,
    /// The host in a cache's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path in a cache's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The header `x-tidegate-scope` in a cache's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Why there is no copy for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

pub(super) fn of(
    policy: &Policy,
    route: Option<&Route>,
    plan: &Plan,
    identity: &Identity<'_>,
    request: &Request<'_>,
) -> Copy {
    let cache = route.and_then(|route| route.cache.as_ref());
    let values = Values {
        policy,
        identity,
        request,
        route,
    };
    let scope: Vec<KeyPart> = cache
        .map(Cache::dimensions)
        .unwrap_or_default()
        .iter()
        .map(|dimension| values.part(dimension, None))
        .collect();
    let key = cache_key(request, plan);
    let reason = match plan.instruction.usage {
        Use::Scoped | Use::Public => None,
        Use::Off => Some("the route is in shadow".to_owned()),
        Use::Bypass => Some(bypassed(cache, &scope, request)),
    };
    Copy {
        cache: plan.instruction.usage.word(),
        host: key.as_ref().map(|key| text(&key.host)),
        path: key.as_ref().map(|key| shown(policy, &text(&key.path))),
        marker: key.and_then(|key| key.scope).map(|marker| text(&marker)),
        scope,
        reason,
    }
}

/// A path with its query, but for a query in which a secret may stand.
fn shown(policy: &Policy, path: &str) -> String {
    let mut sources = policy.identity.sources();
    let secret = sources.any(|source| source.secret && matches!(source.kind, SourceKind::Query(_)));
    match path.split_once('?') {
        Some((path, _)) if secret => format!("{path}?…"),
        _ => path.to_owned(),
    }
}

fn bypassed(cache: Option<&Cache>, scope: &[KeyPart], request: &Request<'_>) -> String {
    let Some(cache) = cache else {
        return "the route says nothing of copies".to_owned();
    };
    if let Some(absent) = scope.iter().find(|part| part.value.is_none()) {
        return format!("`{}` is absent", absent.dimension);
    }
    if request.facts.has_body() {
        return "the request has a body".to_owned();
    }
    if cache.scope == Scope::Public || !path::is_plain(request.path_only()) {
        return "its path may be read as another one".to_owned();
    }
    "the request was refused before".to_owned()
}
