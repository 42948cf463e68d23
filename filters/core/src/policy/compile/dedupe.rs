//! De-duplication of events.

use deserr::ValuePointerRef;

use super::duration::SECOND;
use super::idempotency::{max_body_of, memory};
use super::json_pointer::json_pointer;
use super::{header, number};
use crate::policy::document::{self, BodyEvent, Dedupe, List};
use crate::policy::faults::Faults;
use crate::policy::{By, EventSource, Execution, Idempotency, UnknownRule};

/// The most places of an event's identity.
const MOST_SOURCES: usize = 8;

/// How long an event is remembered where the route does not say: 80 hours.
const DEFAULT_TTL: u64 = 80 * 3_600 * SECOND;

pub(super) fn dedupe(
    wire: Dedupe,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Idempotency> {
    let Dedupe {
        by,
        ttl,
        lease,
        max_body,
        unknown,
        status,
    } = wire;
    let sources = match by {
        Some(list) => sources(list, at.push_key("by"), faults),
        None => {
            faults.missing(
                at,
                "by",
                "where the event's identity stands, like `[{\"header\": \"webhook-id\"}]`",
            );
            Vec::new()
        }
    };
    let memory = memory(ttl, lease, DEFAULT_TTL, at, faults);
    let max_body = max_body_of(max_body.as_deref(), at, faults);
    if let Some(status) = status {
        number::within(status, 200..=299, at.push_key("status"), faults);
    }
    let (ttl, lease) = memory?;
    Some(Idempotency {
        by: By::Event {
            sources,
            status: status.and_then(|status| u16::try_from(status).ok()),
        },
        ttl,
        lease,
        max_body: max_body?,
        // An event that is delivered twice is better than one that is not delivered at all.
        unknown: unknown.map_or(UnknownRule::Retry, UnknownRule::from),
        execution: Execution::Inline,
    })
}

fn sources(
    list: List<document::EventSource>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Vec<EventSource> {
    if list.is_empty() {
        faults.add(
            at,
            "the list is empty; name where the event's identity stands",
        );
    }
    faults.at_most(at, MOST_SOURCES, list.len(), "sources");
    let mut sources = Vec::new();
    for (index, source) in list.into_iter().enumerate() {
        if let Some(source) = source {
            sources.extend(self::source(source, at.push_index(index), faults));
        }
    }
    sources
}

fn source(
    source: document::EventSource,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<EventSource> {
    let document::EventSource { header, json, body } = source;
    match (header, json, body) {
        (Some(name), None, None) => {
            let name = header::header(&name, at.push_key("header"), faults)?;
            return Some(EventSource::Header(name));
        }
        (None, Some(text), None) => {
            json_pointer(&text, at.push_key("json"), faults);
            return Some(EventSource::Json(text));
        }
        (None, None, Some(BodyEvent::Digest)) => return Some(EventSource::Digest),
        (None, None, None) => {
            if !faults.within(at) {
                faults.add(at, "no source is named; write one of `header`, `json` or `body`");
            }
        }
        _ => faults.add(
            at,
            "more than one source is named; write each as an object of its own, in the order to try them",
        ),
    }
    None
}
