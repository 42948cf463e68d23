//! Filling the bucket of a caller.

use serde::Serialize;

use super::caller::{self, Named};
use super::fields::Fields;
use super::limits::{entry, key, named};
use super::reply::Refusal;
use super::view::{Filled, Reset};
use crate::gcra::{FullAt, Level};
use crate::key::Key;
use crate::ledger::drive;
use crate::ledger::entry::Shown;
use crate::ledger::event::Moment;
use crate::policy::{Limit, LimitId, Policy};
use crate::quota::Quota;
use crate::store::{MAX_SWAPS, Slot, Store, StoreError, Swap};
use crate::table::{self, Place};

const KNOWN: &str = "`limit` and `scope`, or `limit` and `tenant`, `account`, `plan`, `address`, `issuer`, `route`, `method`, `host`, `header:NAME`";

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    log: &'static str,
    what: &'static str,
    policy: &'a str,
    version: &'a str,
    limit: &'a str,
    reset: &'a [Filled],
}

pub(super) fn reset<S: Store>(
    policy: &Policy,
    store: &mut S,
    mut fields: Fields,
    at: Moment,
) -> Result<(Reset, String), Refusal> {
    let Some(name) = fields.take("limit")? else {
        return Err(Refusal::bad(format!("`limit` is missing; write {KNOWN}")));
    };
    let id = named(policy, &name)?;
    let Some(limit) = policy.limits.get(id.0) else {
        return Err(Refusal::unknown());
    };
    let scope = fields
        .take("scope")?
        .map(|text| key("scope", &text))
        .transpose()?;
    let buckets: Vec<(Key, Quota)> = match scope {
        Some(scope) => {
            fields.end(KNOWN)?;
            let entries = drive::all(store)?;
            let quota = entry(&entries, limit, scope).and_then(|entry| entry.quota);
            vec![(scope, quota.unwrap_or(limit.quota))]
        }
        None => {
            if !fields.has(&caller::FIELDS) && fields.clone().take_all("header:").is_empty() {
                return Err(Refusal::bad(format!(
                    "whose bucket is not said; write {KNOWN}"
                )));
            }
            let named = Named::read(&mut fields)?;
            fields.end(KNOWN)?;
            let found = named.find(policy, store.secret(), Some(id))?;
            if found.buckets.is_empty() {
                return Err(Refusal::bad(format!(
                    "this does not tell whose bucket of `{name}` it is; write {KNOWN}"
                )));
            }
            let own = found.buckets.iter().map(|own| (own.key, own.quota));
            own.collect()
        }
    };
    let mut filled = Vec::new();
    for (key, quota) in buckets {
        filled.push(fill(store, (id, limit), key, quota, at.now)?);
    }
    // One that is full already says nothing beside one that was not.
    if filled.iter().any(|one| one.before < one.after) {
        filled.retain(|one| one.before < one.after);
    }
    let line = Line {
        log: "tidegate.admin",
        what: "limits.reset",
        policy: &policy.name,
        version: &policy.version,
        limit: &name,
        reset: &filled,
    };
    // An object of texts and numbers can always be written.
    let line = serde_json::to_string(&line).unwrap_or_default();
    let view = Reset {
        policy: policy.name.clone(),
        reset: filled,
        note: "a worker that refused this caller just now may do so for a second more",
    };
    Ok((view, line))
}

/// Has a bucket be full.
fn fill<S: Store>(
    store: &mut S,
    (id, limit): (LimitId, &Limit),
    key: Key,
    quota: Quota,
    now: u64,
) -> Result<Filled, Refusal> {
    let filled = |state: FullAt| Filled {
        limit: limit.name.clone(),
        scope: Shown(key).to_string(),
        before: Level::of(state, now, quota).units,
        after: quota.burst(),
    };
    // What was never written need not be.
    let seen = table::peek(store, (id, limit), &key, now)?;
    if seen.state.is_idle(now) {
        return Ok(filled(seen.state));
    }
    let slot = Slot::Buckets(id, key.place(table::sets(limit.max_keys)));
    for _ in 0..MAX_SWAPS {
        let (mut bytes, version) = store.read(slot)?;
        let found = table::find(&bytes, &key, now).map_err(|_| StoreError::Malformed)?;
        if found.place == Place::Overflow {
            return Err(Refusal::conflict(
                "this caller shares a bucket with others, since its set of the table is full; raise `max_keys`",
            ));
        }
        table::put(&mut bytes, &key, found.place, FullAt::ALWAYS, now)
            .map_err(|_| StoreError::Malformed)?;
        if store.swap(slot, version, &bytes)? == Swap::Done {
            return Ok(filled(found.state));
        }
    }
    Err(StoreError::Contended.into())
}
