//! How a document becomes a [`Policy`]. Every fault is reported and the rest is looked at all the same.

mod address;
mod admin;
mod cache;
mod canary;
mod cost;
mod dedupe;
mod dimension;
mod duration;
mod header;
mod idempotency;
mod identity;
mod json_pointer;
mod limit;
mod matcher;
mod names;
mod notify;
mod number;
mod pattern;
mod problem_base;
mod rate;
mod references;
mod route;
mod size;
mod store;

use deserr::ValuePointerRef;

pub(super) use self::canary::canary;
pub(super) use self::dimension::Sources;
#[cfg(feature = "cases")]
pub use self::number::grouped;
use self::references::Limits;
use self::route::Around;
use super::document::{self, Document, Entries, List};
use super::faults::Faults;
use super::{Mode, Policy, RateLimitHeaders, Route, StoreErrorRule};
use crate::denial::{NO_RULE, RESPONSE_RULES, RULES};
use crate::ruling::{CACHE_KEY, REPLAY};

/// The most limits of a policy: each has a table.
const MOST_LIMITS: usize = 64;

/// The most routes of a policy: they are tried one after the other.
const MOST_ROUTES: usize = 512;

/// The policy that a document means, if it has no fault.
pub(super) fn compile(document: Document, faults: &mut Faults) -> Option<Policy> {
    let Document {
        schema: _schema,
        policy,
        version,
        mode,
        canary,
        identity,
        limits,
        always,
        routes,
        problem_base,
        headers,
        legacy_headers,
        store,
        store_error,
        store_full,
        capacity,
        notify,
        admin,
    } = document;
    let root = ValuePointerRef::Origin;
    match &policy {
        Some(name) => {
            names::name(name, root.push_key("policy"), faults);
        }
        None => faults.missing(root, "policy", "its name, like `storefront`"),
    }
    match &version {
        Some(text) => names::version(text, root.push_key("version"), faults),
        None => faults.missing(root, "version", "a version, like `2026-11-29.1`"),
    }
    let sources = Sources::of(identity.as_ref(), faults);
    let identity = identity
        .map(|identity| identity::identity(identity, root.push_key("identity"), faults))
        .unwrap_or_default();
    let canary = canary.and_then(|canary| {
        let at = root.push_key("canary");
        if mode == Some(document::Mode::Shadow) {
            faults.add(
                at,
                "a policy in shadow is enforced for nobody; leave out `mode` or this",
            );
        }
        self::canary(canary, sources, at, faults)
    });
    let limits = self::limits(limits, sources, root.push_key("limits"), faults);
    let always = route::always(always, &limits, root.push_key("always"), faults);
    let around = Around {
        shadow: mode.as_ref() == Some(&document::Mode::Shadow),
        sources,
        limits: &limits,
        always: &always,
    };
    let routes = self::routes(routes.unwrap_or_default(), &around, faults);
    if let Some(base) = &problem_base {
        problem_base::check(base, root.push_key("problem_base"), faults);
    }
    if let Some(store) = store {
        store::store(store, root.push_key("store"), faults);
    }
    let notify = notify.map(|wire| notify::notify(wire, sources, root.push_key("notify"), faults));
    let admin = admin.map(|wire| admin::admin(wire, root.push_key("admin"), faults));
    let room = store::capacity(capacity, root.push_key("capacity"), faults);
    if !faults.is_empty() {
        return None;
    }
    Some(Policy {
        name: policy?,
        version: version?,
        mode: mode.map(Mode::from).unwrap_or_default(),
        canary,
        identity,
        limits: limits
            .by_name
            .into_iter()
            .map(|(_, limit)| limit)
            .collect::<Option<_>>()?,
        always,
        routes,
        problem_base,
        headers: headers.map(RateLimitHeaders::from).unwrap_or_default(),
        legacy_headers: legacy_headers.unwrap_or(false),
        store_error: store_error.map(StoreErrorRule::from).unwrap_or_default(),
        store_full: store_full.map(StoreErrorRule::from).unwrap_or_default(),
        room,
        notify: match notify {
            Some(notify) => Some(notify?),
            None => None,
        },
        admin: admin.unwrap_or_default(),
    })
}

fn limits(
    entries: Option<Entries<document::Limit>>,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Limits {
    let unread = entries.is_none() && faults.within(at);
    let Entries(mut entries) = entries.unwrap_or_default();
    faults.at_most(at, MOST_LIMITS, entries.len(), "limits");
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut by_name = Vec::new();
    for (name, limit) in entries {
        let at = at.push_key(&name);
        names::name(&name, at, faults);
        let mut taken = RULES
            .iter()
            .chain(&RESPONSE_RULES)
            .chain([&NO_RULE, &CACHE_KEY, &REPLAY]);
        if taken.any(|taken| *taken == name) {
            faults.add(
                at,
                format!(
                    "`{name}` is the name of a rule of our own in metrics and logs; write another"
                ),
            );
        }
        let limit = limit.and_then(|limit| limit::limit(&name, limit, sources, at, faults));
        by_name.push((name, limit));
    }
    Limits { by_name, unread }
}

fn routes(list: List<document::Route>, around: &Around<'_>, faults: &mut Faults) -> Vec<Route> {
    let root = ValuePointerRef::Origin;
    let at = root.push_key("routes");
    faults.at_most(at, MOST_ROUTES, list.len(), "routes");
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut routes = Vec::new();
    for (index, wire) in list.into_iter().take(MOST_ROUTES).enumerate() {
        let at = at.push_index(index);
        let Some(wire) = wire else { continue };
        if around.shadow && wire.mode == Some(document::Mode::Enforce) {
            faults.add(
                at.push_key("mode"),
                "`enforce` has no effect while `$.mode` is `shadow`; leave it out",
            );
        }
        if let Some(name) = &wire.name {
            match names.iter().find(|(earlier, _)| earlier == name) {
                Some((_, first)) => {
                    let name = super::mistake::shown(name);
                    faults.add(
                        at.push_key("name"),
                        format!(
                            "`{name}` is the name of `$.routes[{first}]` already; write another"
                        ),
                    );
                }
                None => names.push((name.clone(), index)),
            }
        }
        routes.extend(route::route(wire, around, at, faults));
    }
    routes
}

impl From<document::Headers> for RateLimitHeaders {
    fn from(wire: document::Headers) -> Self {
        match wire {
            document::Headers::Always => Self::Always,
            document::Headers::Denied => Self::Denied,
            document::Headers::Off => Self::Off,
        }
    }
}

impl From<document::OnFailure> for StoreErrorRule {
    fn from(wire: document::OnFailure) -> Self {
        match wire {
            document::OnFailure::Reject => Self::Reject,
            document::OnFailure::Pass => Self::Pass,
        }
    }
}
