//! Whether a policy's callers are kept apart: pairs of callers are made up who share everything that can be seen and
//! differ in one thing, and it is shown that no cache gives one of them the other's copy.

use super::{CaseFacts, cache_key};
use crate::cache::Plan;
use crate::identity::Identity;
use crate::policy::{
    Cache, Dimension, LimitId, Mistake, Mode, PathPattern, Policy, Route, Scope, Segment, Source,
    SourceKind,
};
use crate::request::Request;
use crate::route;
use crate::store::MemoryStore;

/// Two callers on a scoped route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The index of the route.
    pub route: usize,
    /// What the policy could tell them apart by.
    pub dimension: Dimension,
    /// In what they differ, such as `jwt sub`.
    pub differ: String,
    /// What was found.
    pub found: Found,
}

/// What a pair showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No cache gives one of them the other's copy.
    Apart,
    /// They share a copy.
    Together,
    /// Nothing: no two requests were found that take the route and differ like this.
    Nothing,
}

/// Texts that two callers differ by: unlike ones, and ones that would meet if parts were strung together or cut at the
/// characters that mean something in a path.
const UNLIKE: [(&str, &str); 5] = [
    ("a", "b"),
    ("a", "ab"),
    ("a/b", "a"),
    ("a&b=c", "a"),
    ("a%2Fb", "a%2fb"),
];

/// Pairs for every scoped route that can be reached, in the order of the routes: two callers who differ in one dimension
/// that the policy knows (a part of the identity that has sources, or what a limit of the route goes by), and two whose
/// name is the same and comes from different sources.
pub fn pairs(policy: &Policy) -> Vec<Pair> {
    let policy = Policy {
        mode: Mode::Enforce,
        canary: None,
        ..policy.clone()
    };
    let mut pairs = Vec::new();
    for (index, route) in policy.routes.iter().enumerate() {
        let scoped = route
            .cache
            .as_ref()
            .is_some_and(|c| c.scope != Scope::Public);
        if !scoped || route.mode == Some(Mode::Shadow) {
            continue;
        }
        for dimension in dimensions(&policy, route) {
            for (differ, one, other) in callers(&policy, &dimension) {
                let keys = (key(&policy, route, &one), key(&policy, route, &other));
                let found = match keys {
                    // An earlier route takes all of this one's requests, or this one wants the header that was to differ.
                    (None, _) | (_, None) => Found::Nothing,
                    (Some(Some(one)), Some(Some(other))) if one == other => Found::Together,
                    // Who has no copy shares none.
                    _ => Found::Apart,
                };
                pairs.push(Pair {
                    route: index,
                    dimension: dimension.clone(),
                    differ,
                    found,
                });
            }
        }
    }
    pairs
}

/// What a policy's author may not have meant: a scope that leaves out what the policy's identity or limits go by.
pub fn warnings(policy: &Policy) -> Vec<Mistake> {
    let mut warnings: Vec<Mistake> = Vec::new();
    for pair in pairs(policy) {
        let Some(route) = policy.routes.get(pair.route) else {
            continue;
        };
        let message = match pair.found {
            Found::Apart => continue,
            Found::Together => format!(
                "`{0}` is left out, which {1}: callers who differ in it alone share a copy; add `{0}` unless they may",
                pair.dimension,
                used_by(policy, route, &pair.dimension)
            ),
            Found::Nothing => format!(
                "nothing was shown about callers who differ in `{}`: no two such requests take this route; look at its `match` and at the routes before it",
                pair.differ
            ),
        };
        let warning = Mistake {
            path: format!("$.routes[{}].cache.scope", pair.route),
            message,
        };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Who goes by a dimension.
fn used_by(policy: &Policy, route: &Route, dimension: &Dimension) -> String {
    match limits(policy, route).find(|limit| limit.per.contains(dimension)) {
        Some(limit) => format!("the limit `{}` goes by", limit.name),
        None => "the identity knows".to_owned(),
    }
}

fn limits<'p>(
    policy: &'p Policy,
    route: &'p Route,
) -> impl Iterator<Item = &'p crate::policy::Limit> {
    policy
        .always
        .iter()
        .chain(&route.limits)
        .filter_map(|LimitId(id)| policy.limits.get(*id))
}

/// What the policy could tell callers of a route apart by, beside what every cache's key holds anyway: the host, the method
/// and the path, and with it the route.
fn dimensions(policy: &Policy, route: &Route) -> Vec<Dimension> {
    let scope = route.cache.iter().flat_map(Cache::dimensions);
    let per = limits(policy, route).flat_map(|limit| &limit.per);
    let mut found: Vec<Dimension> = Vec::new();
    for (dimension, sources) in policy.identity.parts() {
        if !sources.is_empty() {
            found.push(dimension);
        }
    }
    for dimension in per.chain(scope) {
        let new = match dimension {
            Dimension::Address | Dimension::Header(_) => !found.contains(dimension),
            _ => false,
        };
        if new {
            found.push(dimension.clone());
        }
    }
    found
}

/// A caller: from which source each part of the identity comes, and what stands there.
#[derive(Clone)]
struct Caller<'p> {
    parts: Vec<(&'p Source, String)>,
    address: String,
    header: Option<(&'p str, String)>,
}

/// Pairs of callers who differ in a dimension alone.
fn callers<'p>(
    policy: &'p Policy,
    dimension: &'p Dimension,
) -> Vec<(String, Caller<'p>, Caller<'p>)> {
    let lists = policy.identity.parts();
    let own = lists.iter().find(|(part, _)| part == dimension);
    let own = own.map(|(_, sources)| *sources);
    // Everything else is the same for both.
    let others = lists
        .iter()
        .filter(|(part, _)| part != dimension)
        .filter_map(|(_, sources)| Some((sources.first()?, "same".to_owned())));
    let base = Caller {
        parts: others.collect(),
        address: "192.0.2.1".to_owned(),
        header: None,
    };
    let with = |source: &'p Source, value: &str| {
        let mut caller = base.clone();
        caller.parts.push((source, value.to_owned()));
        caller
    };
    let mut pairs = Vec::new();
    match (own, dimension) {
        (Some(sources), _) => {
            for source in sources {
                for (one, other) in UNLIKE {
                    pairs.push((name(source), with(source, one), with(source, other)));
                }
            }
            for (first, second) in sources.iter().zip(sources.iter().skip(1)) {
                let differ = format!("{} and {}", name(first), name(second));
                pairs.push((differ, with(first, "a"), with(second, "a")));
            }
        }
        (None, Dimension::Header(header)) => {
            for (one, other) in UNLIKE {
                let with = |value: &str| Caller {
                    header: Some((header, value.to_owned())),
                    ..base.clone()
                };
                pairs.push((dimension.to_string(), with(one), with(other)));
            }
        }
        (None, _) => {
            let mut other = base.clone();
            "198.51.100.1".clone_into(&mut other.address);
            pairs.push((dimension.to_string(), base.clone(), other));
        }
    }
    pairs
}

/// A source as a policy writes it.
fn name(source: &Source) -> String {
    match &source.kind {
        SourceKind::Jwt { claim, .. } => format!("jwt {claim}"),
        SourceKind::Header(name) => format!("header {name}"),
        SourceKind::Query(name) => format!("query {name}"),
        SourceKind::Cookie(name) => format!("cookie {name}"),
        SourceKind::San(_) => "san".to_owned(),
    }
}

/// The key of the copy that a caller's request on a route is for, `Some(None)` if it is for none; `None` where the request
/// does not reach the route.
fn key(policy: &Policy, route: &Route, caller: &Caller<'_>) -> Option<Option<super::CacheKey>> {
    let mut facts = CaseFacts {
        address: format!("{}:1", caller.address),
        ..CaseFacts::default()
    };
    let mut claims = serde_json::Map::new();
    let mut headers: Vec<(&str, String)> = Vec::new();
    let mut cookies: Vec<String> = Vec::new();
    let mut query: Vec<String> = Vec::new();
    for (source, value) in &caller.parts {
        match &source.kind {
            SourceKind::Jwt { claim, .. } => {
                claims.insert(claim.clone(), value.as_str().into());
            }
            SourceKind::Header(name) => headers.push((name, value.clone())),
            SourceKind::Query(name) => query.push(format!("{name}={}", encoded(value))),
            SourceKind::Cookie(name) => cookies.push(format!("{name}={value}")),
            SourceKind::San(san) => facts.san.push((*san, value.clone())),
        }
    }
    facts.claims = (!claims.is_empty()).then_some(claims.into());
    if !cookies.is_empty() {
        headers.push(("cookie", cookies.join("; ")));
    }
    if let Some((name, value)) = &caller.header {
        headers.push((name, value.clone()));
    }
    for (name, value) in &route.matcher.headers {
        match headers.iter().find(|(known, _)| known == name) {
            Some((_, own)) if own == value => {}
            Some(_) => return None,
            None => headers.push((name, value.clone())),
        }
    }
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let mut path = path(route);
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let method = match route.matcher.methods.as_slice() {
        [] => "GET",
        methods => methods
            .iter()
            .find(|method| *method == "GET")
            .or(methods.first())?,
    };
    let request = Request {
        method: method.as_bytes(),
        path: path.as_bytes(),
        authority: route
            .matcher
            .host
            .as_deref()
            .unwrap_or("api.test")
            .as_bytes(),
        headers: &headers,
        facts: &facts,
    };
    let found = route::find(policy, &request)?;
    if found.name != route.name {
        return None;
    }
    let identity = Identity::of(&policy.identity, &request).ok()?;
    let mut plan = Plan::of(policy, Mode::Enforce)?;
    plan.complete(
        policy,
        Some(found),
        &identity,
        &request,
        &mut MemoryStore::new(),
    )
    .ok()?;
    Some(cache_key(&request, &plan))
}

/// A path that a route takes.
fn path(route: &Route) -> String {
    const ANY: &str = "isolation-check";
    match &route.matcher.path {
        None => format!("/{ANY}"),
        Some(PathPattern::Exact(path)) => path.clone(),
        Some(PathPattern::Prefix(prefix)) => format!("{prefix}{ANY}"),
        Some(PathPattern::Template(segments)) => segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => format!("/{text}"),
                Segment::Any => format!("/{ANY}"),
            })
            .collect(),
    }
}

/// A value as a query holds it.
fn encoded(value: &str) -> String {
    value
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
