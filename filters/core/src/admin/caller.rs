//! The keys of a caller whom an operator names: the same as a request's of that caller, made by the same code.
//!
//! A value may have come by any source of the policy, and callers of two sources are two callers; so each is tried.

use core::net::IpAddr;

use super::fields::Fields;
use super::reply::Refusal;
use crate::cache::ScopeKey;
use crate::dimensions::Dimensions;
use crate::engine;
use crate::identity::{Identity, Part, part, source_name};
use crate::key::{Key, Secret};
use crate::policy::{Dimension, Limit, LimitId, Policy, Route, SanType, Source};
use crate::quota::Quota;
use crate::request::{Claim, Facts, Request};

/// The most combinations of sources that are tried.
const MOST: usize = 64;

/// What an operator says of a caller and of its request.
pub(super) struct Named {
    tenant: Option<String>,
    account: Option<String>,
    plan: Option<String>,
    issuer: String,
    address: String,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) route: Option<String>,
}

/// The fields of a caller.
pub(super) const FIELDS: [&str; 8] = [
    "tenant", "account", "plan", "address", "issuer", "route", "method", "host",
];

/// A caller by one combination of sources.
pub(super) struct Candidate<'a> {
    parts: [Option<Part<'a>>; 3],
    /// The sources, as the policy names them.
    pub(super) sources: String,
}

/// A part of an identity by one source, and what the policy calls that; none where the part was not given.
type Sourced<'a> = (Option<Part<'a>>, Option<String>);

/// A bucket that a caller may have.
pub(super) struct Own<'p> {
    pub(super) id: LimitId,
    pub(super) limit: &'p Limit,
    pub(super) key: Key,
    pub(super) quota: Quota,
    pub(super) sources: String,
    pub(super) route: Option<&'p Route>,
    /// The route was not named: this is one of several.
    pub(super) guessed: bool,
}

/// What is found of a caller.
pub(super) struct Found<'p> {
    pub(super) buckets: Vec<Own<'p>>,
    /// Who it is in logs and events, by each combination of sources.
    pub(super) callers: Vec<Key>,
    /// Limits whose bucket cannot be told.
    pub(super) not_told: Vec<&'p Limit>,
}

impl Named {
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Refusal> {
        let mut text = |name: &str| fields.take(name);
        let named = Self {
            tenant: text("tenant")?,
            account: text("account")?,
            plan: text("plan")?,
            issuer: text("issuer")?.unwrap_or_default(),
            address: text("address")?.unwrap_or_default(),
            method: text("method")?.unwrap_or_default(),
            host: text("host")?.unwrap_or_default(),
            path: text("path")?.unwrap_or_else(|| "/".to_owned()),
            route: text("route")?,
            headers: fields.take_all("header:"),
        };
        if !named.address.is_empty() && named.address.parse::<IpAddr>().is_err() {
            return Err(Refusal::bad(
                "`address` is not an IP address; write one, like `192.0.2.1`",
            ));
        }
        Ok(named)
    }

    /// The request that the caller would make.
    pub(super) fn request<R>(
        &self,
        more: &[(&str, &str)],
        then: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let own = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&[u8], &[u8])> = own
            .chain(more.iter().copied())
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let facts = Told {
            address: &self.address,
            scope_key: ScopeKey::new(b""),
        };
        then(&Request {
            method: self.method.as_bytes(),
            path: self.path.as_bytes(),
            authority: self.host.as_bytes(),
            headers: &headers,
            facts: &facts,
        })
    }

    /// The route that is named, if one is.
    pub(super) fn route<'p>(&self, policy: &'p Policy) -> Result<Option<&'p Route>, Refusal> {
        let Some(name) = &self.route else {
            return Ok(None);
        };
        let found = policy.routes.iter().find(|route| route.name == *name);
        let names = || policy.routes.iter().map(|route| route.name.as_str());
        found
            .map(Some)
            .ok_or_else(|| none_is_named("route", names()))
    }

    /// The caller by each combination of sources that could say so.
    pub(super) fn candidates<'a>(
        &'a self,
        policy: &'a Policy,
    ) -> Result<Vec<Candidate<'a>>, Refusal> {
        let rules = &policy.identity;
        let tenants = self.parts("tenant", self.tenant.as_ref(), &rules.tenant)?;
        let accounts = self.parts("account", self.account.as_ref(), &rules.account)?;
        let plans = self.parts("plan", self.plan.as_ref(), &rules.plan)?;
        let mut candidates = Vec::new();
        for (tenant, tenant_source) in &tenants {
            for (account, account_source) in &accounts {
                for (plan, plan_source) in &plans {
                    if candidates.len() >= MOST {
                        return Ok(candidates);
                    }
                    let sources: Vec<&str> = [tenant_source, account_source, plan_source]
                        .into_iter()
                        .filter_map(Option::as_deref)
                        .collect();
                    candidates.push(Candidate {
                        parts: [tenant.clone(), account.clone(), plan.clone()],
                        sources: sources.join(", "),
                    });
                }
            }
        }
        Ok(candidates)
    }

    fn parts<'a>(
        &'a self,
        name: &str,
        value: Option<&'a String>,
        sources: &'a [Source],
    ) -> Result<Vec<Sourced<'a>>, Refusal> {
        let Some(value) = value else {
            return Ok(vec![(None, None)]);
        };
        if sources.is_empty() {
            return Err(Refusal::bad(format!(
                "the policy has no sources for `{name}`; leave it out"
            )));
        }
        let one = |source: &'a Source| {
            let shown = format!("{name} by {}", source_name(&source.kind));
            (Some(part(source, &self.issuer, value)), Some(shown))
        };
        Ok(sources.iter().map(one).collect())
    }

    /// The buckets that the caller may have in all limits, or in one.
    pub(super) fn find<'p>(
        &self,
        policy: &'p Policy,
        secret: Secret,
        only: Option<LimitId>,
    ) -> Result<Found<'p>, Refusal> {
        let named = self.route(policy)?;
        let candidates = self.candidates(policy)?;
        let mut found = Found {
            buckets: Vec::new(),
            callers: Vec::new(),
            not_told: Vec::new(),
        };
        self.request(&[], |request| {
            for candidate in &candidates {
                let identity = candidate.identity(policy, request);
                let mut dimensions = Dimensions::new(secret, &identity, request, None);
                let caller = engine::caller(policy, &mut dimensions);
                found.callers.extend(caller.map(|caller| caller.key));
            }
            for (index, limit) in policy.limits.iter().enumerate() {
                let id = LimitId(index);
                if only.is_some_and(|only| only != id) {
                    continue;
                }
                let mut told = false;
                let (routes, guessed) = match named {
                    Some(route) => (vec![Some(route)], false),
                    None => routes(policy, id),
                };
                // Where a method or host is not given, it is not one that is empty.
                if !self.has_all(limit) {
                    found.not_told.push(limit);
                    continue;
                }
                for candidate in &candidates {
                    let identity = candidate.identity(policy, request);
                    for route in &routes {
                        let mut dimensions = Dimensions::new(secret, &identity, request, *route);
                        let Some(key) = dimensions.key(&limit.per, &limit.otherwise) else {
                            continue;
                        };
                        told = true;
                        let known = |own: &Own<'_>| own.id == id && own.key == key;
                        if found.buckets.iter().any(known) {
                            continue;
                        }
                        found.buckets.push(Own {
                            id,
                            limit,
                            key,
                            quota: limit.quota_of(&identity),
                            sources: candidate.sources.clone(),
                            route: route.filter(|_| limit.per.contains(&Dimension::Route)),
                            guessed,
                        });
                    }
                }
                if !told {
                    found.not_told.push(limit);
                }
            }
        });
        Ok(found)
    }

    fn has_all(&self, limit: &Limit) -> bool {
        limit.per.iter().all(|dimension| match dimension {
            Dimension::Method => !self.method.is_empty(),
            Dimension::Host => !self.host.is_empty(),
            _ => true,
        })
    }
}

/// The routes on which a limit may have buckets, and whether they are several.
fn routes(policy: &Policy, id: LimitId) -> (Vec<Option<&Route>>, bool) {
    let by_route = policy.limits.get(id.0).is_some_and(|limit| {
        limit.per.contains(&Dimension::Route) || limit.otherwise == Dimension::Route
    });
    if !by_route {
        return (vec![None], false);
    }
    let always = policy.always.contains(&id);
    let own = policy
        .routes
        .iter()
        .filter(|route| always || route.limits.contains(&id));
    let routes = own.map(Some).chain(always.then_some(None));
    (routes.take(MOST).collect(), true)
}

impl<'a> Candidate<'a> {
    pub(super) fn identity<'r>(
        &'r self,
        policy: &'r Policy,
        request: &'r Request<'r>,
    ) -> Identity<'r>
    where
        'a: 'r,
    {
        Identity::told(self.parts.clone(), &policy.identity, request)
    }
}

/// What an operator may write instead of a name that there is not.
pub(super) fn none_is_named<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Refusal {
    let names: Vec<String> = names.take(64).map(|name| format!("`{name}`")).collect();
    Refusal::bad(if names.is_empty() {
        format!("the policy has no {what} of this name, nor any other; leave it out")
    } else {
        format!(
            "the policy has no {what} of this name; write one of {}",
            names.join(", ")
        )
    })
}

/// What is known of a request that nobody made.
struct Told<'a> {
    address: &'a str,
    scope_key: ScopeKey,
}

impl Facts for Told<'_> {
    fn claim(&self, _: &str, _: &str) -> Claim<'_> {
        Claim::Absent
    }

    fn source_address(&self) -> Vec<u8> {
        self.address.as_bytes().to_vec()
    }

    fn peer_san(&self, _: SanType) -> Option<Vec<u8>> {
        None
    }

    fn address_key(&self) -> &[u8] {
        &[]
    }

    fn unix_seconds(&self) -> u64 {
        0
    }

    fn scope_key(&self) -> &ScopeKey {
        &self.scope_key
    }

    fn random(&self) -> Option<[u8; 32]> {
        None
    }
}
