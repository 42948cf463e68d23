//! The record of a request that is made once.

use serde::Serialize;

use super::parts::text;
use crate::cases::CaseRequest;
use crate::engine::Decision;
use crate::idempotency::{Body, Turn, head, key, subject};
use crate::identity::{Identity, Part};
use crate::policy::{By, EventSource, Fingerprint, Idempotency, Route};
use crate::records::Digest;
use crate::request::Request;
use crate::route::canonical;

/// The record of a request.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// `key` or `event`.
    pub by: &'static str,
    /// What tells it from other records, a name and a value each; empty where the request has none.
    pub key: Vec<(String, String)>,
    /// What must be the same when the key comes again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The digest of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint_digest: Option<String>,
    /// What is next: `runs`, `replayed`, `refused` or `unrecorded`.
    pub turn: &'static str,
    /// Whether the call outlives its client.
    pub detached: bool,
}

pub(super) fn of(
    route: &Route,
    decision: &Decision<'_>,
    identity: &Identity<'_>,
    asked: &Request<'_>,
    request: &CaseRequest,
) -> Option<Record> {
    let rule = route.idempotency.as_ref()?;
    let mut body = Body::new(rule, rule.execution);
    let whole = body.push(request.body.as_deref().unwrap_or_default().as_bytes());
    let has_record = matches!(subject(rule, route, identity, asked), Ok(Some(_)));
    let key = if has_record {
        parts(rule, route, identity, asked, &body)
    } else {
        Vec::new()
    };
    let (by, wanted) = match &rule.by {
        By::Key { fingerprint, .. } => ("key", Some(fingerprint)),
        By::Event { .. } => ("event", None),
    };
    let wanted = wanted.filter(|_| !key.is_empty() && whole.is_ok());
    let digest = wanted.and_then(|wanted| body.fingerprint(wanted, &head(asked)));
    Some(Record {
        by,
        fingerprint: wanted.map(words),
        fingerprint_digest: digest.as_ref().map(hex),
        key,
        turn: turn(decision),
        detached: matches!(decision.turn, Turn::Detach(_)),
    })
}

fn turn(decision: &Decision<'_>) -> &'static str {
    match (&decision.denial, &decision.turn) {
        (Some(_), _) => "refused",
        (None, Turn::Run(_) | Turn::Detach(_)) => "runs",
        (None, Turn::Replay(_)) => "replayed",
        (None, Turn::Go | Turn::Read(_)) => "unrecorded",
    }
}

/// What tells the record from others.
fn parts(
    rule: &Idempotency,
    route: &Route,
    identity: &Identity<'_>,
    asked: &Request<'_>,
    body: &Body,
) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut add = |name: &str, value: String| parts.push((name.to_owned(), value));
    let person = |part: &Option<Part<'_>>| match part {
        Some(part) => text(&part.value),
        None => "absent".to_owned(),
    };
    add("tenant", person(&identity.tenant));
    add("account", person(&identity.account));
    add("host", text(&asked.host()));
    add("path", text(&canonical(asked.path_only())));
    match &rule.by {
        By::Key {
            lenient,
            max_length,
            ..
        } => {
            add("method", text(asked.method));
            let key = key::read(asked.lines(key::HEADER), *lenient, *max_length);
            add("key", text(&key.ok().flatten().unwrap_or_default()));
        }
        By::Event { sources, .. } => {
            add("route", route.name.clone());
            let found = sources.iter().find_map(|source| event(source, asked, body));
            let Some((source, value)) = found else {
                return Vec::new();
            };
            add(&source, value);
        }
    }
    parts
}

fn event(source: &EventSource, asked: &Request<'_>, body: &Body) -> Option<(String, String)> {
    match source {
        EventSource::Header(name) => {
            let line = asked.lines(name).map(<[u8]>::trim_ascii).next();
            let line = line.filter(|line| !line.is_empty())?;
            Some((format!("header {name}"), text(line)))
        }
        EventSource::Json(pointer) => {
            Some((format!("json {pointer}"), text(&body.event(pointer)?)))
        }
        EventSource::Digest => Some(("body digest".to_owned(), hex(&body.digest()))),
    }
}

fn words(fingerprint: &Fingerprint) -> String {
    match fingerprint {
        Fingerprint::Body => {
            "method, path, query, content type and encoding, and the whole body".to_owned()
        }
        Fingerprint::Json(pointers) => format!(
            "method, path, query, content type and encoding, and of the body {}",
            pointers.join(", ")
        ),
        Fingerprint::KeyOnly => "nothing but the key".to_owned(),
    }
}

fn hex(digest: &Digest) -> String {
    digest
        .to_bytes()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}
