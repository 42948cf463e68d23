//! What each limit says, and by which numbers.

use serde::Serialize;

use super::parts::{KeyPart, Values};
use crate::admission::{self, Standing};
use crate::engine::{self, Decision};
use crate::identity::Identity;
use crate::policy::{self, Anonymous, LimitId, Policy};
use crate::quota::NANOS_PER_MILLI;
use crate::request::Request;

/// A limit that holds for the request.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// It stands in `always`; else in the route's own.
    pub always: bool,
    /// It counts and never denies.
    pub shadow: bool,
    /// What the caller's bucket is told apart by.
    pub key: Vec<KeyPart>,
    /// What the bucket is worth.
    pub quota: Quota,
    /// What it says.
    pub said: Said,
    /// How many units there were before the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// How many are left after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
}

/// What a bucket is worth, and by which part of the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quota {
    /// How fast it refills.
    pub rate: String,
    /// How much it holds.
    pub burst: u64,
    /// `limit`, or `plan NAME`, `tenant NAME`, `account NAME`.
    pub from: String,
}

/// What a limit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It has room.
    Room,
    /// It refuses until so many milliseconds have passed.
    WaitMs(u64),
    /// It never holds so much.
    Never,
    /// It could not be asked.
    Failed,
    /// It was not asked: what was decided before needs no quota.
    NotAsked,
    /// It is left out for callers without an account.
    LeftOut,
}

/// What a request costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The units; `None` where the header that says it does not hold a number.
    pub units: Option<u64>,
    /// The header that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

pub(super) fn cost(route: Option<&policy::Route>, request: &Request<'_>) -> Cost {
    let header = match route.map(|route| &route.cost) {
        Some(policy::Cost::Header { name, .. }) => Some(name),
        Some(policy::Cost::Fixed(_)) | None => None,
    };
    let header = header.filter(|name| request.lines(name).next().is_some());
    Cost {
        units: engine::cost(route, request).ok(),
        header: header.cloned(),
    }
}

pub(super) fn asked(
    policy: &Policy,
    decision: &Decision<'_>,
    identity: &Identity<'_>,
    request: &Request<'_>,
) -> Vec<Limit> {
    let route = decision.route;
    let values = Values {
        policy,
        identity,
        request,
        route,
    };
    let anonymous = route.map(|route| route.anonymous).unwrap_or_default();
    let own = route.map(|route| route.limits.as_slice());
    let always = policy.always.iter().map(|id| (id, true));
    let own = own.unwrap_or_default().iter().map(|id| (id, false));
    always
        .chain(own)
        .filter_map(|(id, always)| {
            let limit = policy.limits.get(id.0)?;
            let left_out = anonymous == Anonymous::Allow
                && limit.needs_account()
                && identity.account.is_none();
            let standing = standing(decision, *id);
            let (said, before, left) = match standing {
                _ if left_out => (Said::LeftOut, None, None),
                None => (Said::NotAsked, None, None),
                Some(standing) => told(standing, decision, request),
            };
            Some(Limit {
                name: limit.name.clone(),
                always,
                shadow: limit.shadow,
                key: limit
                    .per
                    .iter()
                    .map(|dimension| values.part(dimension, Some(&limit.otherwise)))
                    .collect(),
                quota: quota(limit, identity),
                said,
                before,
                left,
            })
        })
        .collect()
}

fn standing<'d>(decision: &'d Decision<'_>, id: LimitId) -> Option<&'d Standing> {
    decision.standings.iter().find(|said| said.limit == id)
}

/// What a limit said, and the units before and after.
fn told(
    standing: &Standing,
    decision: &Decision<'_>,
    request: &Request<'_>,
) -> (Said, Option<u64>, Option<u64>) {
    let left = standing.level().units;
    match standing.said {
        admission::Said::Room => {
            // All or nothing: what anything refuses is charged to none, and the state is the one before.
            let charged = decision.denial.is_none();
            let cost = cost(decision.route, request).units.filter(|_| charged);
            let before = left.saturating_add(cost.unwrap_or(0));
            (Said::Room, Some(before), Some(left))
        }
        admission::Said::Wait(wait) => {
            let wait = wait.div_ceil(NANOS_PER_MILLI);
            (Said::WaitMs(wait), Some(left), Some(left))
        }
        admission::Said::Never => (Said::Never, Some(left), Some(left)),
        admission::Said::Failed(_) => (Said::Failed, None, None),
    }
}

/// What the caller's bucket is worth; in the order of [`policy::Limit::quota_of`].
fn quota(limit: &policy::Limit, identity: &Identity<'_>) -> Quota {
    let quota = limit.quota_of(identity);
    let from = [
        ("account", &limit.account_overrides, &identity.account),
        ("tenant", &limit.tenant_overrides, &identity.tenant),
        ("plan", &limit.plans, &identity.plan),
    ]
    .into_iter()
    .find_map(|(kind, quotas, part)| {
        let name = part.as_ref()?.text()?;
        quotas.get(name).map(|_| format!("{kind} {name}"))
    });
    Quota {
        rate: quota.rate().to_string(),
        burst: quota.burst(),
        from: from.unwrap_or_else(|| "limit".to_owned()),
    }
}
