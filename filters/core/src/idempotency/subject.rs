//! What a record is for: whose key, on which host, method and path; or which event.

use super::body::Body;
use super::key;
use crate::denial::Denial;
use crate::identity::Identity;
use crate::key::Parts;
use crate::policy::{By, EventSource, Idempotency, Route};
use crate::records::Digest;
use crate::request::Request;
use crate::route::canonical;

/// What a record is for, as far as the headers say.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// Everything but the key or the event.
    scope: Parts,
    /// The key, or the event where a header names it.
    found: Option<Parts>,
    /// The event that a header names, and which source that is, where the body may name another one first.
    later: Option<(usize, Parts)>,
}

/// Tags of a record key's parts.
const KIND: u8 = 1;
const TENANT: u8 = 2;
const ACCOUNT: u8 = 3;
const HOST: u8 = 4;
const METHOD: u8 = 5;
const PATH: u8 = 6;
const ROUTE: u8 = 7;
const KEY: u8 = 8;
const SOURCE: u8 = 9;

/// What the record of a request is for; `None` if it has none.
///
/// # Errors
/// A key that is missing or malformed, or a caller who is nobody where a key is required: strangers share no records.
pub(crate) fn subject(
    rule: &Idempotency,
    route: &Route,
    identity: &Identity<'_>,
    request: &Request<'_>,
) -> Result<Option<Subject>, Denial> {
    let mut methods = route.matcher.methods.iter();
    let named = methods.any(|method| method.as_bytes() == request.method);
    if is_stream(request) {
        return match &rule.by {
            By::Key { required: true, .. } => Err(Denial::NotRecordable(
                "is a stream, which has no one answer; a route that asks for a key takes none",
            )),
            _ => Ok(None),
        };
    }
    let mut scope = Parts::new();
    let mut part = |tag, part: Option<&crate::identity::Part<'_>>| {
        let mut own = Parts::new();
        if let Some(part) = part {
            part.push_to(&mut own);
        }
        scope.push(tag, own.as_bytes());
    };
    part(TENANT, identity.tenant.as_ref());
    part(ACCOUNT, identity.account.as_ref());
    scope.push(HOST, &request.host());
    scope.push(PATH, &canonical(request.path_only()));
    let (found, later) = match &rule.by {
        By::Key {
            required,
            lenient,
            max_length,
            ..
        } => {
            // The methods that may be sent again without a key, unless the route names them.
            if !matches!(request.method, b"POST" | b"PATCH") && !named {
                return Ok(None);
            }
            if is_safe(request.method) {
                return Ok(None);
            }
            let key = key::read(request.lines(key::HEADER), *lenient, *max_length)
                .map_err(Denial::IdempotencyKeyInvalid)?;
            let Some(key) = key else {
                return if *required {
                    Err(Denial::IdempotencyKeyMissing)
                } else {
                    Ok(None)
                };
            };
            if identity.account.is_none() && identity.tenant.is_none()
                || identity.account.is_none() && identity.knows_accounts()
            {
                return if *required {
                    Err(Denial::IdentityRequired)
                } else {
                    Ok(None)
                };
            }
            scope.push(KIND, b"key");
            scope.push(METHOD, request.method);
            let mut found = Parts::new();
            found.push(KEY, &key);
            (Some(found), None)
        }
        By::Event { sources, .. } => {
            // Whoever asks whether a receiver is there delivers nothing, unless the route is for such requests by name.
            if is_safe(request.method) && !named {
                return Ok(None);
            }
            scope.push(KIND, b"event");
            scope.push(ROUTE, route.name.as_bytes());
            match in_headers(sources, request)? {
                Some((index, event)) if in_body(sources.get(..index)) => {
                    (None, Some((index, event)))
                }
                found => (found.map(|(_, event)| event), None),
            }
        }
    };
    Ok(Some(Subject {
        scope,
        found,
        later,
    }))
}

/// Whether a method only asks (RFC 9110, section 9.2.1).
fn is_safe(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
}

/// Whether one of these sources stands in the body.
fn in_body(sources: Option<&[EventSource]>) -> bool {
    let header = |source: &EventSource| matches!(source, EventSource::Header(_));
    !sources.unwrap_or_default().iter().all(header)
}

/// Whether a request goes both ways for as long as it likes.
fn is_stream(request: &Request<'_>) -> bool {
    let grpc = |kind: &[u8]| kind.starts_with(b"application/grpc");
    request.lines("content-type").any(grpc) || request.lines("upgrade").next().is_some()
}

/// The first event that a header names, and which source that is.
fn in_headers(
    sources: &[EventSource],
    request: &Request<'_>,
) -> Result<Option<(usize, Parts)>, Denial> {
    for (index, source) in sources.iter().enumerate() {
        let name = match source {
            EventSource::Header(name) => name,
            EventSource::Json(_) => continue,
            // Every body has one.
            EventSource::Digest => break,
        };
        let mut lines = request.lines(name).map(<[u8]>::trim_ascii);
        let Some(line) = lines.next() else { continue };
        if lines.next().is_some() {
            return Err(Denial::EventAmbiguous {
                header: name.clone(),
            });
        }
        if !line.is_empty() {
            return Ok(Some((index, event(name.as_bytes(), line))));
        }
    }
    Ok(None)
}

fn event(source: &[u8], value: &[u8]) -> Parts {
    let mut parts = Parts::new();
    parts.push(SOURCE, source);
    parts.push(KEY, value);
    parts
}

impl Subject {
    /// The record's key, where the headers say it.
    pub(crate) fn key(&self) -> Option<Digest> {
        self.found.as_ref().map(|found| self.with(found))
    }

    /// The record's key by an event of which the body may say more than the headers; `None` if neither names one.
    pub(crate) fn key_by(&self, sources: &[EventSource], body: &Body) -> Option<Digest> {
        let found = sources
            .iter()
            .enumerate()
            .find_map(|(index, source)| match source {
                EventSource::Header(_) => {
                    let (later, event) = self.later.as_ref()?;
                    (*later == index).then(|| event.clone())
                }
                EventSource::Json(pointer) => body
                    .event(pointer)
                    .map(|value| event(pointer.as_bytes(), &value)),
                EventSource::Digest => Some(event(b"", &body.digest().to_bytes())),
            })?;
        Some(self.with(&found))
    }

    /// The record's key by what a source has for an event; `None` for the body itself, which nobody types in.
    pub(crate) fn key_of_event(&self, source: &EventSource, value: &[u8]) -> Option<Digest> {
        let name = match source {
            EventSource::Header(name) => name.as_bytes(),
            EventSource::Json(pointer) => pointer.as_bytes(),
            EventSource::Digest => return None,
        };
        Some(self.with(&event(name, value)))
    }

    fn with(&self, found: &Parts) -> Digest {
        let mut parts = self.scope.clone();
        parts.push(KEY, found.as_bytes());
        Digest::of(&parts)
    }
}
