//! Buckets, and who was refused: of one caller, or of those who were refused most.

use super::caller::{self, Named, Own, none_is_named};
use super::drained;
use super::fields::Fields;
use super::reply::Refusal;
use super::view::{Bucket, Limits, NotTold, Scope};
use crate::denial::RULES;
use crate::key::Key;
use crate::ledger::entry::Shown;
use crate::ledger::event::Moment;
use crate::ledger::{Entry, drive};
use crate::policy::{Limit, LimitId, Policy};
use crate::quota::Quota;
use crate::store::{Store, StoreError};
use crate::table::{self, Place};

/// How many scopes or buckets are shown unless it is said.
const TOP: usize = 50;

/// The most that are shown.
const MOST: usize = 1000;

const KNOWN: &str = "`order`, `limit`, `top`, `next`, `scope`, `caller`, `tenant`, `account`, `plan`, `address`, `issuer`, `route`, `method`, `host`, `header:NAME`";

const NOTHING: &str = "no bucket of this caller is stored, and no refusal is remembered: a bucket that is full and one that was never used are the same";

pub(super) fn limits<S: Store>(
    policy: &Policy,
    store: &mut S,
    mut fields: Fields,
    at: Moment,
) -> Result<Limits, Refusal> {
    let limit = fields.take("limit")?;
    let scope = fields
        .take("scope")?
        .map(|text| key("scope", &text))
        .transpose()?;
    let caller = fields
        .take("caller")?
        .map(|text| key("caller", &text))
        .transpose()?;
    let by_parts = fields.has(&caller::FIELDS) || !fields.clone().take_all("header:").is_empty();
    let mut limits = Limits {
        policy: policy.name.clone(),
        version: policy.version.clone(),
        now: at.shown(at.now),
        ..Limits::default()
    };
    if [scope.is_some(), caller.is_some(), by_parts]
        .into_iter()
        .filter(|one| *one)
        .count()
        > 1
    {
        return Err(Refusal::bad(
            "`scope`, `caller` and the parts of a caller are three ways to name one; use one of them",
        ));
    }
    let entries = drive::all(store)?;
    if let Some(caller) = caller {
        fields.end(KNOWN)?;
        let own = entries
            .iter()
            .filter(|entry| entry.caller == caller || entry.id.key == caller);
        let own: Vec<_> = own
            .filter(|entry| limit.as_ref().is_none_or(|l| *l == entry.id.rule))
            .collect();
        limits.note = own
            .is_empty()
            .then_some("no refusal of this caller is remembered");
        limits.scopes = Some(scopes(policy, store, &own, at)?);
        return Ok(limits);
    }
    if let Some(scope) = scope {
        let only = limit.map(|name| named(policy, &name)).transpose()?;
        fields.end(KNOWN)?;
        of_scope(policy, store, &entries, (scope, only), at, &mut limits)?;
        return Ok(limits);
    }
    if by_parts {
        let only = limit.map(|name| named(policy, &name)).transpose()?;
        let named = Named::read(&mut fields)?;
        fields.end(KNOWN)?;
        of_caller(policy, store, &entries, (&named, only), at, &mut limits)?;
        return Ok(limits);
    }
    let top = match fields.take("top")? {
        None => TOP,
        Some(text) => {
            let top = text.parse().ok().filter(|top| (1..=MOST).contains(top));
            top.ok_or_else(|| Refusal::bad(format!("`top` is not a number from 1 to {MOST}")))?
        }
    };
    let order = fields.take("order")?;
    if order.as_deref() == Some("drained") {
        let only = limit.map(|name| named(policy, &name)).transpose()?;
        let next = fields.take("next")?;
        fields.end(KNOWN)?;
        drained::drained(
            policy,
            store,
            &entries,
            (only, next.as_deref(), top),
            at,
            &mut limits,
        )?;
        return Ok(limits);
    }
    fields.end(KNOWN)?;
    if let Some(rule) = &limit
        && !RULES.contains(&rule.as_str())
    {
        named(policy, rule)?;
    }
    let mut shown: Vec<&Entry> = entries
        .iter()
        .filter(|entry| limit.as_ref().is_none_or(|rule| *rule == entry.id.rule))
        .collect();
    let order = match order.as_deref() {
        None | Some("refused") => "refused",
        Some("recent") => "recent",
        Some(_) => {
            return Err(Refusal::bad(
                "this is no `order`; write `refused`, `recent` or `drained`",
            ));
        }
    };
    shown.sort_by_key(|entry| {
        let count = if order == "recent" { 0 } else { entry.count };
        core::cmp::Reverse((count, entry.last))
    });
    limits.order = Some(order);
    limits.more = Some(shown.len().saturating_sub(top));
    shown.truncate(top);
    limits.scopes = Some(scopes(policy, store, &shown, at)?);
    Ok(limits)
}

/// The buckets of a scope in all limits, or in one.
fn of_scope<S: Store>(
    policy: &Policy,
    store: &mut S,
    entries: &[Entry],
    (scope, only): (Key, Option<LimitId>),
    at: Moment,
    limits: &mut Limits,
) -> Result<(), Refusal> {
    let own: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.id.key == scope)
        .collect();
    let mut buckets = Vec::new();
    for (index, limit) in policy.limits.iter().enumerate() {
        let id = LimitId(index);
        if only.is_some_and(|only| only != id) {
            continue;
        }
        let peeked = table::peek(store, (id, limit), &scope, at.now)?;
        let entry = entry(entries, limit, scope);
        // Of a scope alone it cannot be told whose limit it is, unless it was refused or has a bucket there.
        if matches!(peeked.place, Place::Own(_)) || entry.is_some() || only.is_some() {
            buckets.push(bucket(limit, scope, &peeked, entry, at));
        }
    }
    let nothing = own.is_empty() && !buckets.iter().any(|bucket| bucket.stored);
    limits.note = nothing.then_some(NOTHING);
    limits.buckets = Some(buckets);
    limits.scopes = Some(scopes(policy, store, &own, at)?);
    Ok(())
}

/// The buckets of a caller.
fn of_caller<S: Store>(
    policy: &Policy,
    store: &mut S,
    entries: &[Entry],
    (named, only): (&Named, Option<LimitId>),
    at: Moment,
    limits: &mut Limits,
) -> Result<(), Refusal> {
    let found = named.find(policy, store.secret(), only)?;
    let mut buckets = Vec::new();
    for Own {
        id,
        limit,
        key,
        quota,
        sources,
        route,
        guessed,
    } in &found.buckets
    {
        let peeked = table::peek(store, (*id, limit), key, at.now)?;
        let entry = entry(entries, limit, *key);
        if *guessed && !matches!(peeked.place, Place::Own(_)) && entry.is_none() {
            continue;
        }
        // A plan that was not said may be known from a refusal.
        let quota = entry.and_then(|entry| entry.quota).unwrap_or(*quota);
        buckets.push(Bucket {
            identity: (!sources.is_empty()).then(|| sources.clone()),
            route: route.map(|route| route.name.clone()),
            assumed: false,
            ..worth(limit, *key, &peeked, entry, quota, at)
        });
    }
    // Where one of several sources is the caller's, the others are nobody's.
    let there: Vec<String> = { buckets.iter() }
        .filter(|bucket| bucket.stored || bucket.refused > 0)
        .map(|bucket| bucket.limit.clone())
        .collect();
    buckets.retain(|own| own.stored || own.refused > 0 || !there.contains(&own.limit));
    let keys = |key: Key| found.buckets.iter().any(|own| own.key == key);
    let own: Vec<&Entry> = entries
        .iter()
        .filter(|entry| keys(entry.id.key) || found.callers.contains(&entry.caller))
        .filter(|entry| {
            only.is_none_or(|only| {
                policy
                    .limits
                    .get(only.0)
                    .is_some_and(|l| l.name == entry.id.rule)
            })
        })
        .collect();
    let nothing = own.is_empty() && !buckets.iter().any(|bucket| bucket.stored);
    limits.note = nothing.then_some(NOTHING);
    limits.buckets = Some(buckets);
    limits.scopes = Some(scopes(policy, store, &own, at)?);
    limits.not_told = found
        .not_told
        .iter()
        .map(|limit| NotTold {
            limit: limit.name.clone(),
            per: limit.per.iter().map(ToString::to_string).collect(),
        })
        .collect();
    Ok(())
}

/// Scopes as they are shown, each with its bucket where the rule is a limit.
fn scopes<S: Store>(
    policy: &Policy,
    store: &mut S,
    entries: &[&Entry],
    at: Moment,
) -> Result<Vec<Scope>, StoreError> {
    let mut scopes = Vec::with_capacity(entries.len());
    for entry in entries {
        let shown = match policy.limit_named(&entry.id.rule) {
            Some(limit) => {
                let peeked = table::peek(store, limit, &entry.id.key, at.now)?;
                let (_, limit) = limit;
                Some(bucket(limit, entry.id.key, &peeked, Some(entry), at))
            }
            None => None,
        };
        scopes.push(Scope::of(entry, shown, at));
    }
    Ok(scopes)
}

/// What is remembered of the refusals by a limit of a scope.
pub(super) fn entry<'e>(entries: &'e [Entry], limit: &Limit, scope: Key) -> Option<&'e Entry> {
    let own = |entry: &&Entry| entry.id.key == scope && entry.id.rule == limit.name;
    entries.iter().find(own)
}

/// A bucket as it is shown: worth what it was when it refused last, or else the limit's own quota.
pub(super) fn bucket(
    limit: &Limit,
    key: Key,
    peeked: &table::Bucket,
    entry: Option<&Entry>,
    at: Moment,
) -> Bucket {
    let known = entry.and_then(|entry| entry.quota);
    let varies = !limit.plans.is_empty()
        || !limit.tenant_overrides.is_empty()
        || !limit.account_overrides.is_empty();
    Bucket {
        assumed: known.is_none() && varies,
        ..worth(limit, key, peeked, entry, known.unwrap_or(limit.quota), at)
    }
}

/// A bucket that is worth so much, as it is shown.
fn worth(
    limit: &Limit,
    key: Key,
    peeked: &table::Bucket,
    entry: Option<&Entry>,
    quota: Quota,
    at: Moment,
) -> Bucket {
    Bucket {
        stored: matches!(peeked.place, Place::Own(_)),
        shared: peeked.place == Place::Overflow,
        refused: entry.map_or(0, |entry| entry.count),
        ..Bucket::of(limit, key, peeked.state, quota, at)
    }
}

/// The limit of this name.
pub(super) fn named(policy: &Policy, name: &str) -> Result<LimitId, Refusal> {
    let names = || policy.limits.iter().map(|limit| limit.name.as_str());
    let found = policy.limit_named(name);
    found
        .map(|(id, _)| id)
        .ok_or_else(|| none_is_named("limit", names()))
}

/// A key as logs and events show it.
pub(super) fn key(field: &str, text: &str) -> Result<Key, Refusal> {
    let key: Result<Shown, ()> = text.parse();
    key.map(|Shown(key)| key).map_err(|()| {
        Refusal::bad(format!(
            "`{field}` is not one of ours; write the 32 hexadecimal digits of a log or an event"
        ))
    })
}
