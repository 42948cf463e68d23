//! Whose copy a request is for, and what the gate will expect of the response.

use super::{Instruction, Marker, Use, path};
use crate::denial::Denial;
use crate::dimensions::Dimensions;
use crate::identity::{Identity, Kind, Part};
use crate::key::{Parts, Secret};
use crate::policy::{Cache, CacheBy, Dimension, Mode, Policy, Route};
use crate::request::Request;
use crate::route;
use crate::store::{Slot, Store, StoreError};

/// What the gate does with a request before a cache sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What `origin` and caches are told.
    pub instruction: Instruction,
    /// Whose copy the request is for; `None`: it is for none, or for everybody's.
    pub marker: Option<Marker>,
    /// The path with the marker in it, where it is told that way.
    pub path: Option<Vec<u8>>,
    /// What the response is held to.
    pub expected: Expected,
}

/// What a response is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// What a cache was told it may do.
    pub usage: Use,
    /// The response is its caller's alone, or its scope's: downstream it is `private`.
    pub scoped: bool,
    /// The marker that a seal must show, if there is a seal.
    pub marker: Option<Marker>,
    /// There must be a seal.
    pub sealed: bool,
    /// The header in which the origin names the owner, and the caller's own name.
    pub owner: Option<(String, Option<Vec<u8>>)>,
    /// Where a successful change ends the copies of this path, for [`renew`].
    pub stale: Option<u32>,
}

/// How many places there are for the generations of copies; paths and scopes that share one end together.
const GENERATIONS: u32 = 16_384;

/// Tags in the parts of a marker; those of dimensions are below.
const UNKEYED: u8 = 250;
const GENERATION: u8 = 251;
/// A tag in the parts of a place.
const PLACE: u8 = 252;

/// Headers that change what some origins answer, and that no cache has in its key: who can send one could have the
/// answer to another request stored (cache poisoning).
const UNKEYED_HEADERS: [&str; 16] = [
    "forwarded",
    "front-end-https",
    "x-forwarded-host",
    "x-forwarded-path",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-forwarded-uri",
    "x-host",
    "x-http-host-override",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
    "x-url-scheme",
];

/// More of these. They make another method of a request, so a change that has one is still a change of what is read
/// without.
const OVERRIDES: [&str; 3] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

impl Plan {
    /// The plan for a request of which nothing is known yet but the mode that holds for it: it is left alone in shadow, and
    /// is for no copy otherwise. `None` where the policy tells caches nothing.
    pub(crate) fn of(policy: &Policy, mode: Mode) -> Option<Self> {
        if !policy.tells_caches() {
            return None;
        }
        let usage = match mode {
            Mode::Shadow => Use::Off,
            Mode::Enforce => Use::Bypass,
        };
        Some(Self {
            instruction: Instruction::new(usage),
            marker: None,
            path: None,
            expected: Expected {
                usage,
                scoped: false,
                marker: None,
                sealed: false,
                owner: None,
                stale: None,
            },
        })
    }

    /// Says whose copy a request is for.
    ///
    /// # Errors
    /// [`Denial::StoreUnavailable`] where a random marker is needed and the host has no randomness.
    pub(crate) fn complete<S: Store>(
        &mut self,
        policy: &Policy,
        route: Option<&Route>,
        identity: &Identity<'_>,
        request: &Request<'_>,
        store: &mut S,
    ) -> Result<(), Denial> {
        if changes(request.method) {
            self.change(policy, identity, request, store);
        }
        if self.instruction.usage == Use::Off {
            return Ok(());
        }
        match route.and_then(|route| Some((route, route.cache.as_ref()?))) {
            Some((route, cache)) => self.scope(policy, route, cache, identity, request, store),
            None => Ok(()),
        }
    }

    /// Says which copies a change ends, if it succeeds: those that the same caller would get of the same path.
    fn change<S: Store>(
        &mut self,
        policy: &Policy,
        identity: &Identity<'_>,
        request: &Request<'_>,
        store: &mut S,
    ) {
        let read = Request {
            method: b"GET",
            ..*request
        };
        let Some(route) = route::find(policy, &read).filter(|r| r.mode != Some(Mode::Shadow))
        else {
            return;
        };
        let Some(cache) = &route.cache else { return };
        match cache.by {
            CacheBy::Path => {
                let secret = store.secret();
                let mut parts = Parts::new();
                self.expected.stale = Dimensions::new(secret, identity, &read, Some(route))
                    .write_all(cache.dimensions(), &mut parts)
                    .then(|| place(parts, &read, secret));
            }
            // A cache that keys on a header can drop copies, if it is told whose.
            CacheBy::Header => {
                let copy = copy(cache, Some(route), identity, &read, &[], store);
                self.marker = copy
                    .filter(|parts| !parts.as_bytes().is_empty())
                    .map(|parts| request.facts.scope_key().marker(&policy.name, &parts));
                self.expected.marker = self.marker;
            }
        }
    }

    /// Scopes the request by what its route says.
    fn scope<S: Store>(
        &mut self,
        policy: &Policy,
        route: &Route,
        cache: &Cache,
        identity: &Identity<'_>,
        request: &Request<'_>,
        store: &mut S,
    ) -> Result<(), Denial> {
        let own = cache.dimensions().contains(&Dimension::Account);
        let shared = !cache.dimensions().is_empty();
        // A cache that keeps the answer to a request with a body would give it to one without.
        let bodied = kept(request.method) && request.facts.has_body();
        let copy = (!bodied && (own || path::is_plain(request.path_only())))
            .then(|| copy(cache, Some(route), identity, request, &OVERRIDES, store))
            .flatten();
        let usage = match (&copy, shared) {
            (None, _) => Use::Bypass,
            (Some(_), true) => Use::Scoped,
            (Some(_), false) => Use::Public,
        };
        let marker = match copy {
            Some(parts) if parts.as_bytes().is_empty() => None,
            // Told already whose copies the change ends.
            Some(_) if self.marker.is_some() => self.marker,
            Some(parts) => Some(request.facts.scope_key().marker(&policy.name, &parts)),
            None => {
                let random = request.facts.random().ok_or(Denial::StoreUnavailable)?;
                Some(Marker::from_bytes(random))
            }
        };
        let by_path = cache.by == CacheBy::Path && kept(request.method);
        self.path = marker
            .as_ref()
            .filter(|_| by_path && request.path.starts_with(b"/"))
            .map(|marker| path::mark(request.path, marker));
        self.marker = marker;
        self.instruction = Instruction {
            usage,
            marked: self.path.is_some(),
            varies: cache.by == CacheBy::Header && marker.is_some(),
            authorized: authorized(identity, request),
            own,
        };
        self.expected.usage = usage;
        self.expected.scoped = shared;
        self.expected.marker = marker;
        self.expected.sealed = shared && cache.sealed;
        self.expected.owner = cache.owner.as_ref().map(|rule| {
            let part = match rule.names {
                Dimension::Tenant => identity.tenant.as_ref(),
                _ => identity.account.as_ref(),
            };
            (rule.header.clone(), part.map(|part| part.value.to_vec()))
        });
        Ok(())
    }
}

/// What tells the copy for a request from others; empty where nothing does, `None` where something that must is absent.
fn copy<S: Store>(
    cache: &Cache,
    route: Option<&Route>,
    identity: &Identity<'_>,
    request: &Request<'_>,
    overrides: &[&str],
    store: &mut S,
) -> Option<Parts> {
    let secret = store.secret();
    let mut parts = Parts::new();
    let mut dimensions = Dimensions::new(secret, identity, request, route);
    if !dimensions.write_all(cache.dimensions(), &mut parts) {
        return None;
    }
    // Envoy's own caches forget nothing on demand, so after a change the copies get another name.
    if cache.by == CacheBy::Path {
        let place = place(parts.clone(), request, secret);
        let (generation, _) = store.read(Slot::Generation(place)).ok()?;
        if !generation.is_empty() {
            parts.push(GENERATION, &generation);
        }
    }
    push_unkeyed(&mut parts, request, overrides);
    Some(parts)
}

fn push_unkeyed(parts: &mut Parts, request: &Request<'_>, overrides: &[&str]) {
    for name in UNKEYED_HEADERS.iter().chain(overrides) {
        for line in request.lines(name) {
            parts.push(UNKEYED, name.as_bytes());
            parts.push(UNKEYED, line);
        }
    }
}

/// No secret: two mounts with stores of their own have to come to the same digest.
const COMPARED: Secret = Secret::new(*b"tidegate compare");

/// Who shares the cached copy that a request would be for, as a digest that two policies have in common where they agree; 0:
/// there is no copy. `None` where nobody compares, or the request is none that caches keep an answer to.
pub(crate) fn sharers(
    policy: &Policy,
    route: Option<&Route>,
    identity: &Identity<'_>,
    request: &Request<'_>,
) -> Option<u64> {
    let keeps = kept(request.method) && !request.facts.has_body();
    if !keeps || !policy.caches() || (policy.tells_caches() && !request.facts.is_compared()) {
        return None;
    }
    let parts = route.and_then(|route| {
        let cache = route.cache.as_ref()?;
        let mut dimensions = Dimensions::new(COMPARED, identity, request, Some(route));
        let mut parts = Parts::new();
        // The order is each policy's own, and none of who shares the copy.
        if !dimensions.write_set(cache.dimensions(), &mut parts) {
            return None;
        }
        push_unkeyed(&mut parts, request, &OVERRIDES);
        Some(parts)
    });
    let digest = parts.map(|parts| COMPARED.key(&parts).to_bytes());
    let half = digest.and_then(|digest| digest.first_chunk().copied());
    Some(half.map_or(0, u64::from_le_bytes))
}

/// Where the generation of the copies is kept that callers of one scope have of one path, whatever its query.
fn place(mut scope: Parts, request: &Request<'_>, secret: Secret) -> u32 {
    scope.push(PLACE, &request.host());
    scope.push(PLACE, &route::canonical(request.path_only()));
    secret.key(&scope).place(GENERATIONS)
}

/// Ends the copies that a change made stale ([`Expected::stale`]), where the response says that it succeeded (RFC 9111,
/// section 4.4). `now` becomes their generation.
///
/// # Errors
/// The store's: the copies go on.
pub fn renew<S: Store>(
    stale: Option<u32>,
    status: u16,
    store: &mut S,
    now: u64,
) -> Result<(), StoreError> {
    let Some(place) = stale.filter(|_| (200..400).contains(&status)) else {
        return Ok(());
    };
    let slot = Slot::Generation(place);
    let (_, version) = store.read(slot)?;
    // A swap that is lost was lost to another generation, which will do.
    store.swap(slot, version, &now.to_le_bytes()).map(|_| ())
}

/// Whether a method changes things (RFC 9110, section 9.2.1).
fn changes(method: &[u8]) -> bool {
    ![&b"GET"[..], b"HEAD", b"OPTIONS", b"TRACE", b"CONNECT"].contains(&method)
}

/// Whether caches keep responses to a method.
fn kept(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD")
}

/// Whether the caller authenticated with `Authorization`: it is there, or was, before Envoy verified its token.
fn authorized(identity: &Identity<'_>, request: &Request<'_>) -> bool {
    let token = |part: &Option<Part<'_>>| part.as_ref().is_some_and(|p| p.kind == Kind::Jwt);
    token(&identity.tenant)
        || token(&identity.account)
        || token(&identity.plan)
        || request.lines("authorization").next().is_some()
        || request.facts.has_token()
}
