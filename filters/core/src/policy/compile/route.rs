//! Routes.

use deserr::ValuePointerRef;

use super::dimension::Sources;
use super::references::{Limits, references};
use super::{cache, cost, dedupe, idempotency, matcher, names};
use crate::policy::document::{self, Route as WireRoute};
use crate::policy::faults::Faults;
use crate::policy::{Anonymous, Cost, LimitId, Mode, Route};

/// The most limits of one request: each is a read and a swap.
const MOST_LIMITS: usize = 8;

/// What the rest of the policy says that a route must agree with.
pub(super) struct Around<'a> {
    /// The policy is in shadow.
    pub(super) shadow: bool,
    pub(super) sources: Sources,
    pub(super) limits: &'a Limits,
    pub(super) always: &'a [LimitId],
}

pub(super) fn route(
    wire: WireRoute,
    around: &Around<'_>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Route> {
    let WireRoute {
        name,
        matcher,
        limits,
        cost,
        anonymous,
        mode,
        cache,
        idempotency,
        dedupe,
    } = wire;
    let name = match name {
        Some(name) => names::name(&name, at.push_key("name"), faults).then_some(name),
        None => {
            faults.missing(at, "name", "a name of its own, like `search`");
            None
        }
    };
    let matcher = matcher
        .map(|matcher| matcher::matcher(matcher, at.push_key("match"), faults))
        .unwrap_or_default();
    let limits = own_limits(limits, around, at.push_key("limits"), faults);
    let cost = match cost {
        Some(cost) => cost::cost(cost, at.push_key("cost"), faults),
        None => Some(Cost::default()),
    };
    if let Some(cost) = &cost {
        for limit in around.always.iter().chain(&limits) {
            if let Some(limit) = around.limits.get(*limit) {
                cost::admissible(cost, limit, at.push_key("cost"), faults);
            }
        }
    }
    let anonymous = anonymous.map(Anonymous::from).unwrap_or_default();
    if anonymous == Anonymous::Deny && !around.sources.account {
        faults.add(
            at.push_key("anonymous"),
            "`deny` would refuse every request: no account is ever known; name its sources in `identity.account`",
        );
    }
    let cache =
        cache.and_then(|cache| cache::cache(cache, around.sources, at.push_key("cache"), faults));
    if idempotency.is_some() && dedupe.is_some() {
        faults.add(
            at.push_key("dedupe"),
            "`dedupe` and `idempotency` cannot stand in one route; keep one",
        );
    }
    let idempotency = idempotency.and_then(|wire| {
        idempotency::idempotency(wire, around.sources, at.push_key("idempotency"), faults)
    });
    let dedupe = dedupe.and_then(|wire| dedupe::dedupe(wire, at.push_key("dedupe"), faults));
    Some(Route {
        name: name?,
        matcher,
        limits,
        cost: cost?,
        anonymous,
        mode: mode.map(Mode::from),
        cache,
        idempotency: idempotency.or(dedupe),
    })
}

fn own_limits(
    list: Option<document::List<String>>,
    around: &Around<'_>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<LimitId> {
    let own = references(list.unwrap_or_default(), around.limits, at, faults);
    for (index, id) in &own {
        if around.always.contains(id) {
            let name = around.limits.name(*id);
            faults.add(
                at.push_index(*index),
                format!("`{name}` stands in `always` already; leave it out here"),
            );
        }
    }
    let own: Vec<LimitId> = own.into_iter().map(|(_, id)| id).collect();
    let count = around.always.len().saturating_add(own.len());
    if count > MOST_LIMITS && !own.is_empty() {
        faults.add(
            at,
            format!("{count} limits would hold for one request, with those of `always`; write at most {MOST_LIMITS}"),
        );
    }
    own
}

/// The limits of `always`.
pub(super) fn always(
    list: Option<document::List<String>>,
    limits: &Limits,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<LimitId> {
    let always = references(list.unwrap_or_default(), limits, at, faults);
    let count = always.len();
    if count > MOST_LIMITS {
        faults.add(
            at,
            format!("{count} limits would hold for one request; write at most {MOST_LIMITS}"),
        );
    }
    always.into_iter().map(|(_, id)| id).collect()
}

impl From<document::Anonymous> for Anonymous {
    fn from(wire: document::Anonymous) -> Self {
        match wire {
            document::Anonymous::Deny => Self::Deny,
            document::Anonymous::Address => Self::Address,
            document::Anonymous::Allow => Self::Allow,
        }
    }
}

impl From<document::Mode> for Mode {
    fn from(wire: document::Mode) -> Self {
        match wire {
            document::Mode::Enforce => Self::Enforce,
            document::Mode::Shadow => Self::Shadow,
        }
    }
}
