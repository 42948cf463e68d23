//! Records of what was done: how far they have come, and ending them.

use serde::Serialize;

use super::caller::{Named, none_is_named};
use super::fields::Fields;
use super::reply::Refusal;
use super::view::{Answer, Record as Shown, Records, Released as Ended};
use crate::hex;
use crate::idempotency::{key, subject};
use crate::ledger::event::Moment;
use crate::policy::{By, Policy};
use crate::records::drive::{self, Released};
use crate::records::{Digest, Record, State, Stored, machine};
use crate::route;
use crate::store::{Slot, Store, StoreError};

const KNOWN: &str = "`id`, or `method`, `path`, `key` and `host`, `tenant`, `account`, `issuer`, `route`, `header:NAME`";

const NOTHING: &str = "no record is kept for this: it never began, it ended, or its request was answered by a status that frees the key";

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    log: &'static str,
    what: &'static str,
    policy: &'a str,
    version: &'a str,
    id: &'a str,
    before: &'static str,
    after: &'static str,
    forced: bool,
}

pub(super) fn records<S: Store>(
    policy: &Policy,
    store: &mut S,
    mut fields: Fields,
    at: Moment,
) -> Result<Records, Refusal> {
    let mut records = Vec::new();
    for id in ids(policy, &mut fields)? {
        if let Some(record) = find(policy, store, &id, at.now)? {
            records.push(shown(policy, store, &record, at)?);
        }
    }
    Ok(Records {
        policy: policy.name.clone(),
        now: at.shown(at.now),
        note: records.is_empty().then_some(NOTHING),
        records,
    })
}

pub(super) fn release<S: Store>(
    policy: &Policy,
    store: &mut S,
    mut fields: Fields,
    at: Moment,
) -> Result<(Ended, String), Refusal> {
    let force = match fields.take("force")?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Refusal::bad("`force` is `true` or `false`")),
    };
    let mut found = Vec::new();
    for id in ids(policy, &mut fields)? {
        found.extend(find(policy, store, &id, at.now)?);
    }
    let [record] = found.as_slice() else {
        return Err(if found.is_empty() {
            Refusal::new(404, "Not Found", NOTHING)
        } else {
            Refusal::conflict("this names several records; write the `id` of one")
        });
    };
    let id = hex::digits(&record.key.to_bytes());
    let before = match drive::release(store, &policy.room, &record.key, force, at.now)? {
        Released::Ended(record) => word(&record, at.now),
        Released::Absent => return Err(Refusal::new(404, "Not Found", NOTHING)),
        Released::Runs(record) => {
            return Err(Refusal::conflict(format!(
                "its request runs until {} at most, and the next one would be a second execution; wait, or send `force=true`",
                at.shown(record.lease_ends)
            )));
        }
    };
    let line = Line {
        log: "tidegate.admin",
        what: "records.release",
        policy: &policy.name,
        version: &policy.version,
        id: &id,
        before,
        after: "absent",
        forced: force,
    };
    // An object of texts can always be written.
    let line = serde_json::to_string(&line).unwrap_or_default();
    let view = Ended {
        policy: policy.name.clone(),
        id,
        before,
        after: "absent",
    };
    Ok((view, line))
}

/// The keys of the records that are meant.
fn ids(policy: &Policy, fields: &mut Fields) -> Result<Vec<Digest>, Refusal> {
    if let Some(id) = fields.take("id")? {
        fields.end(KNOWN)?;
        let id = hex::bytes(&id)
            .map(Digest::from_bytes)
            .ok_or_else(|| Refusal::bad("`id` is not one of ours; write 64 hexadecimal digits"))?;
        return Ok(vec![id]);
    }
    let Some(key) = fields.take("key")? else {
        return Err(Refusal::bad(format!(
            "which record is not said; write {KNOWN}"
        )));
    };
    let named = Named::read(fields)?;
    fields.end(KNOWN)?;
    if !policy.records() {
        return Err(Refusal::bad("the policy keeps no records"));
    }
    let quoted = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
    let lines = [(key::HEADER, quoted.as_str())];
    let by_name = named.route(policy)?;
    named.request(&lines, |request| {
        let Some(route) = by_name.or_else(|| route::find(policy, request)) else {
            let names = policy.routes.iter().map(|route| route.name.as_str());
            return Err(none_is_named("route", names));
        };
        let Some(rule) = &route.idempotency else {
            return Err(Refusal::bad(format!("the route `{}` keeps no records", route.name)));
        };
        let mut ids = Vec::new();
        for candidate in named.candidates(policy)? {
            let identity = candidate.identity(policy, request);
            let subject = subject(rule, route, &identity, request).ok().flatten();
            let Some(subject) = subject else {
                return Err(Refusal::bad(format!(
                    "no request of this caller and method has a record on the route `{}`; write {KNOWN}",
                    route.name
                )));
            };
            match &rule.by {
                By::Key { .. } => ids.extend(subject.key()),
                By::Event { sources, .. } => {
                    let keys = sources.iter().filter_map(|s| subject.key_of_event(s, key.as_bytes()));
                    ids.extend(keys);
                }
            }
        }
        Ok(ids)
    })
}

/// Looks a record up, and makes nothing.
fn find<S: Store>(
    policy: &Policy,
    store: &mut S,
    id: &Digest,
    now: u64,
) -> Result<Option<Record>, StoreError> {
    let set = drive::set_of(store, &policy.room, id);
    let bytes = store.peek(Slot::Records(set))?;
    Ok(machine::find(&bytes, id, now)?)
}

fn shown<S: Store>(
    policy: &Policy,
    store: &mut S,
    record: &Record,
    at: Moment,
) -> Result<Shown, StoreError> {
    let stored = match record.state {
        State::Done(_) => drive::answer(store, &policy.room, record)?,
        _ => None,
    };
    let answer = stored.as_deref().and_then(Stored::read);
    Ok(Shown {
        id: hex::digits(&record.key.to_bytes()),
        state: word(record, at.now),
        lease_ends: at.shown(record.lease_ends),
        lease_over: record.lease_ends <= at.now,
        ends: at.shown(record.ends),
        fingerprint: record.fingerprint.is_some(),
        answer: answer.map(|answer| Answer {
            status: answer.status,
            length: answer.body.len(),
        }),
    })
}

fn word(record: &Record, now: u64) -> &'static str {
    match record.state_at(now) {
        State::Running => "running",
        State::Done(_) => "done",
        State::Unknown => "unknown",
        State::TooLarge => "too-large",
    }
}
