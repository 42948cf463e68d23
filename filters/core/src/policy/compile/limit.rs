//! Limits.

use std::collections::BTreeMap;

use deserr::ValuePointerRef;

use super::dimension::{Sources, dimension, dimensions};
use super::{names, number, rate};
use crate::answer;
use crate::policy::document::{Entries, Limit as WireLimit, Overrides, Quota as WireQuota};
use crate::policy::faults::Faults;
use crate::policy::{Dimension, Limit};
use crate::quota::Quota;

/// How many buckets a table holds where the limit does not say.
const DEFAULT_KEYS: u64 = 65_536;

/// What a part that must be present is told to be.
const PER_EXAMPLE: &str = "what tells its buckets apart, like `[\"tenant\", \"account\"]`";

pub(super) fn limit(
    name: &str,
    limit: WireLimit,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Limit> {
    let WireLimit {
        per,
        otherwise,
        rate,
        burst,
        plans,
        overrides,
        shadow,
        max_keys,
    } = limit;
    let per = match per {
        Some(list) => dimensions(list, sources, at.push_key("per"), faults),
        None => {
            faults.missing(at, "per", PER_EXAMPLE);
            Vec::new()
        }
    };
    let otherwise = match otherwise {
        Some(text) => self::otherwise(&text, &per, sources, at.push_key("otherwise"), faults),
        None => Some(Dimension::Address),
    };
    let quota = rate::quota(rate, burst, at, faults);
    let plans = quotas(
        plans,
        Dimension::Plan,
        sources,
        at.push_key("plans"),
        faults,
    );
    let Overrides { tenant, account } = overrides.unwrap_or_default();
    let overrides = at.push_key("overrides");
    let tenant_overrides = quotas(
        tenant,
        Dimension::Tenant,
        sources,
        overrides.push_key("tenant"),
        faults,
    );
    let account_overrides = quotas(
        account,
        Dimension::Account,
        sources,
        overrides.push_key("account"),
        faults,
    );
    let max_keys = max_keys.unwrap_or(DEFAULT_KEYS);
    let max_keys = number::within(max_keys, 16..=1_048_576, at.push_key("max_keys"), faults);
    let quota = quota?;
    let ceiling = [&plans, &tenant_overrides, &account_overrides]
        .into_iter()
        .flat_map(BTreeMap::values)
        .fold(quota.capacity(), |most, quota| most.max(quota.capacity()));
    Some(Limit {
        name: name.to_owned(),
        per,
        otherwise: otherwise?,
        quota,
        told: answer::policy_member(name, quota),
        plans,
        tenant_overrides,
        account_overrides,
        shadow: shadow.unwrap_or(false),
        max_keys: u32::try_from(max_keys?).ok()?,
        ceiling,
    })
}

/// The stand-in. One of the limit's own dimensions would be absent just when it is needed.
fn otherwise(
    text: &str,
    per: &[Dimension],
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Dimension> {
    let otherwise = dimension(text, sources, at, faults)?;
    if per.contains(&otherwise) {
        faults.add(
            at,
            format!("`{text}` stands in `per` already and cannot stand in for another; write another dimension"),
        );
        return None;
    }
    Some(otherwise)
}

/// The quotas of the callers with these values of `dimension`.
fn quotas(
    entries: Option<Entries<WireQuota>>,
    dimension: Dimension,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> BTreeMap<String, Quota> {
    let mut quotas = BTreeMap::new();
    let Some(Entries(entries)) = entries else {
        return quotas;
    };
    sources.check(&dimension, at, faults);
    for (value, quota) in entries {
        let at = at.push_key(&value);
        names::value(&value, at, faults);
        let Some(WireQuota { rate, burst }) = quota else {
            continue;
        };
        if let Some(quota) = rate::quota(rate, burst, at, faults) {
            quotas.insert(value, quota);
        }
    }
    quotas
}
