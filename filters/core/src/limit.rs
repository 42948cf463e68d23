//! One limit and one caller: whose bucket it is, and what it is worth.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::denial::Denial;
use crate::identity::{Identity, Part};
use crate::key::Parts;
use crate::policy::{Dimension, Limit, Route};
use crate::quota::Quota;
use crate::request::Request;

/// Tags in keys, one for each dimension, and one that says that another stands in.
const TENANT: u8 = 32;
const ACCOUNT: u8 = 33;
const PLAN: u8 = 34;
const ADDRESS: u8 = 35;
const ROUTE: u8 = 36;
const METHOD: u8 = 37;
const HOST: u8 = 38;
const HEADER: u8 = 39;
const STAND_IN: u8 = 40;

/// The methods that are told apart; all others count as one, because a caller can make up any number.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// What is known about a request when its limits are looked up.
pub(crate) struct Facts<'a> {
    pub(crate) identity: &'a Identity<'a>,
    pub(crate) request: &'a Request<'a>,
    pub(crate) route: Option<&'a Route>,
}

/// Whether a limit tells accounts apart.
pub(crate) fn needs_account(limit: &Limit) -> bool {
    limit.per.contains(&Dimension::Account)
}

/// What the caller's bucket is worth: the account's override, else the tenant's, else the plan, else the
/// limit's own quota.
pub(crate) fn quota(limit: &Limit, identity: &Identity<'_>) -> Quota {
    let named = |quotas: &BTreeMap<String, Quota>, part: Option<&Part<'_>>| {
        if quotas.is_empty() {
            return None;
        }
        quotas.get(part?.text()?).copied()
    };
    named(&limit.account_overrides, identity.account.as_ref())
        .or_else(|| named(&limit.tenant_overrides, identity.tenant.as_ref()))
        .or_else(|| named(&limit.plans, identity.plan.as_ref()))
        .unwrap_or(limit.quota)
}

impl Limit {
    /// The largest capacity of any quota that this limit gives, in nanoseconds.
    pub fn ceiling(&self) -> u64 {
        [&self.plans, &self.tenant_overrides, &self.account_overrides]
            .into_iter()
            .flat_map(|quotas| quotas.values())
            .map(|quota| quota.capacity())
            .fold(self.quota.capacity(), u64::max)
    }
}

/// Writes what makes the key of the caller's bucket into `parts`.
///
/// # Errors
/// [`Denial::IdentityRequired`] where a dimension is absent and so is the one that stands in for it;
/// [`Denial::IdentityAmbiguous`] where the address is malformed.
pub(crate) fn write_key(limit: &Limit, facts: &Facts<'_>, parts: &mut Parts) -> Result<(), Denial> {
    parts.clear();
    for dimension in &limit.per {
        if !write(dimension, facts, parts)? {
            parts.push(STAND_IN, &[tag(dimension)]);
            if !write(&limit.otherwise, facts, parts)? {
                return Err(Denial::IdentityRequired);
            }
        }
    }
    Ok(())
}

fn tag(dimension: &Dimension) -> u8 {
    match dimension {
        Dimension::Tenant => TENANT,
        Dimension::Account => ACCOUNT,
        Dimension::Plan => PLAN,
        Dimension::Address => ADDRESS,
        Dimension::Route => ROUTE,
        Dimension::Method => METHOD,
        Dimension::Host => HOST,
        Dimension::Header(_) => HEADER,
    }
}

/// Writes the value of a dimension; `false` if it is absent.
fn write(dimension: &Dimension, facts: &Facts<'_>, parts: &mut Parts) -> Result<bool, Denial> {
    let identity = facts.identity;
    let tag = tag(dimension);
    let value: Option<Cow<'_, [u8]>> = match dimension {
        Dimension::Tenant => return Ok(write_part(tag, identity.tenant.as_ref(), parts)),
        Dimension::Account => return Ok(write_part(tag, identity.account.as_ref(), parts)),
        Dimension::Plan => return Ok(write_part(tag, identity.plan.as_ref(), parts)),
        Dimension::Address => {
            let address = identity.address().map_err(Denial::IdentityAmbiguous)?;
            if let Some(address) = address {
                parts.push(tag, &[]);
                address.push_to(parts);
            }
            return Ok(address.is_some());
        }
        // That no route matched is a fact like another.
        Dimension::Route => Some(Cow::Borrowed(
            facts.route.map_or(&[][..], |route| route.name.as_bytes()),
        )),
        Dimension::Method => Some(Cow::Borrowed(
            METHODS
                .iter()
                .find(|method| method.as_bytes() == facts.request.method)
                .map_or(&[][..], |method| method.as_bytes()),
        )),
        Dimension::Host => Some(facts.request.host())
            .filter(|host| !host.is_empty())
            .map(Cow::Owned),
        Dimension::Header(name) => {
            let lines = facts.request.lines(name).map(<[u8]>::trim_ascii);
            let mut present = false;
            for line in lines.filter(|line| !line.is_empty()) {
                parts.push(tag, line);
                present = true;
            }
            return Ok(present);
        }
    };
    if let Some(value) = &value {
        parts.push(tag, value);
    }
    Ok(value.is_some())
}

fn write_part(tag: u8, part: Option<&Part<'_>>, parts: &mut Parts) -> bool {
    if let Some(part) = part {
        parts.push(tag, &[]);
        part.push_to(parts);
    }
    part.is_some()
}
