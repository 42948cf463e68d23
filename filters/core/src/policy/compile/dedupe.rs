//! De-duplication of events.

use deserr::ValuePointerRef;

use super::duration::SECOND;
use super::idempotency::{MOST_BODY_MIB, memory};
use super::json_pointer::json_pointer;
use super::size::size;
use super::{header, number};
use crate::policy::document::{BodyEvent, Dedupe, EventSource, Unknown};
use crate::policy::faults::Faults;

/// The most places of an event's identity.
const MOST_SOURCES: usize = 8;

/// How long an event is remembered where the route does not say: 80 hours.
const DEFAULT_TTL: u64 = 80 * 3_600 * SECOND;

/// Checks the settings. Nothing is made of them yet: this version remembers no events.
pub(super) fn check(wire: Dedupe, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let Dedupe {
        by,
        ttl,
        lease,
        max_body,
        unknown,
        status,
    } = wire;
    match by {
        Some(list) => {
            let at = at.push_key("by");
            if list.is_empty() {
                faults.add(
                    at,
                    "the list is empty; name where the event's identity stands",
                );
            }
            if list.len() > MOST_SOURCES {
                let count = list.len();
                faults.add(
                    at,
                    format!("{count} sources are too many; write at most {MOST_SOURCES}"),
                );
            }
            for (index, source) in list.into_iter().enumerate() {
                if let Some(source) = source {
                    self::source(source, at.push_index(index), faults);
                }
            }
        }
        None => faults.missing(
            at,
            "by",
            "where the event's identity stands, like `[{\"header\": \"webhook-id\"}]`",
        ),
    }
    memory(ttl, lease, DEFAULT_TTL, at, faults);
    if let Some(text) = max_body {
        size(&text, MOST_BODY_MIB, at.push_key("max_body"), faults);
    }
    match unknown {
        Some(Unknown::Hold | Unknown::Retry) | None => {}
    }
    if let Some(status) = status {
        number::within(status, 200..=299, at.push_key("status"), faults);
    }
}

fn source(source: EventSource, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let EventSource { header, json, body } = source;
    match (header, json, body) {
        (Some(name), None, None) => {
            header::header(&name, at.push_key("header"), faults);
        }
        (None, Some(text), None) => json_pointer(&text, at.push_key("json"), faults),
        (None, None, Some(BodyEvent::Digest)) => {}
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
}
