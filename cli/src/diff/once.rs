//! What becomes of requests that are sent again.

use std::collections::BTreeSet;

use tidegate_core::policy::{
    By, EventSource, Execution, Fingerprint, Idempotency, Route, Step, UnknownRule,
};

use super::change::{Changes, Kind, inside};
use super::words;

/// Where changes are added: about some requests, at the place of their route's rule.
struct About<'a> {
    whose: &'a str,
    place: Vec<Step>,
    changes: &'a mut Changes,
}

impl About<'_> {
    fn add(&mut self, kind: Kind, key: &str, text: &str) {
        let place = if key.is_empty() {
            self.place.clone()
        } else {
            inside(&self.place, key)
        };
        let text = format!("{}: {text}", self.whose);
        self.changes.add(kind, &place, text);
    }

    fn bigger<T: PartialOrd>(
        &mut self,
        key: &str,
        (old, new): (T, T),
        if_bigger: Kind,
        text: &str,
    ) {
        let kind = match (new > old, if_bigger) {
            (true, kind) => kind,
            (false, Kind::Stricter) => Kind::Looser,
            (false, _) => Kind::Stricter,
        };
        if old != new {
            self.add(kind, key, text);
        }
    }
}

pub(super) fn compare(
    whose: &str,
    (before, after): (&Route, &Route),
    place: &[Step],
    changes: &mut Changes,
) {
    let (old, new) = (before.idempotency.as_ref(), after.idempotency.as_ref());
    let key = match new.or(old).map(|rule| &rule.by) {
        Some(By::Event { .. }) => "dedupe",
        _ => "idempotency",
    };
    let mut about = About {
        whose,
        place: inside(place, key),
        changes,
    };
    match (old, new) {
        (None, None) => {}
        (None, Some(rule)) => {
            let what = what(&rule.by);
            about.add(
                Kind::New,
                "",
                &format!("{what} is recognised for {}", words::duration(rule.ttl)),
            );
            if let By::Key { required: true, .. } = rule.by {
                about.add(
                    Kind::Stricter,
                    "key",
                    "a request without a key is refused, and so is a caller who is nobody",
                );
            }
        }
        (Some(rule), None) => {
            let what = what(&rule.by);
            about.add(Kind::Gone, "", &format!("{what} runs again"));
        }
        (Some(old), Some(new)) => {
            both(old, new, &mut about);
            if let (By::Event { .. }, By::Event { .. }) = (&old.by, &new.by)
                && before.name != after.name
            {
                about.add(
                    Kind::Changed,
                    "",
                    "records of events are a route's own and start anew: an event from before runs again when it is delivered again",
                );
            }
        }
    }
}

const fn what(by: &By) -> &'static str {
    match by {
        By::Key { .. } => "a request that comes again with its `Idempotency-Key`",
        By::Event { .. } => "an event that is delivered again",
    }
}

fn both(old: &Idempotency, new: &Idempotency, about: &mut About<'_>) {
    let Idempotency {
        by,
        ttl,
        lease,
        max_body,
        unknown,
        execution,
    } = old;
    match (by, &new.by) {
        (By::Key { .. }, By::Key { .. }) | (By::Event { .. }, By::Event { .. }) => {
            self::by(by, &new.by, about);
        }
        _ => about.add(
            Kind::Changed,
            "",
            &format!(
                "{} was recognised, and now {}; records start anew",
                what(by),
                what(&new.by)
            ),
        ),
    }
    let times = |old: u64, new: u64| (words::duration(old), words::duration(new));
    let (was, is) = times(*ttl, new.ttl);
    about.bigger(
        "ttl",
        (*ttl, new.ttl),
        Kind::Stricter,
        &format!("recognised for {was} -> {is}, after which it runs again"),
    );
    let (was, is) = times(*lease, new.lease);
    about.bigger(
        "lease",
        (*lease, new.lease),
        Kind::Stricter,
        &format!("a request may run for {was} -> {is} before its outcome counts as unknown"),
    );
    let sizes = (bytes(*max_body), bytes(new.max_body));
    about.bigger(
        "max_body",
        (*max_body, new.max_body),
        Kind::Looser,
        &format!(
            "bodies up to {} -> {} are read, and answers of that size kept",
            sizes.0, sizes.1
        ),
    );
    if *unknown != new.unknown {
        let (kind, text) = match new.unknown {
            UnknownRule::Hold => (
                Kind::Stricter,
                "after an unknown outcome later attempts are refused, and no longer run",
            ),
            UnknownRule::Retry => (
                Kind::Looser,
                "after an unknown outcome the next attempt runs, and is no longer refused",
            ),
        };
        about.add(kind, "unknown", text);
    }
    if *execution != new.execution {
        let shown = |execution: Execution| match execution {
            Execution::Inline => "with its client".to_owned(),
            Execution::Detached { timeout } => {
                format!(
                    "without its client, within {}",
                    words::duration(u64::from(timeout).saturating_mul(1_000_000))
                )
            }
        };
        let (old, new) = (shown(*execution), shown(new.execution));
        about.add(
            Kind::Changed,
            "execution",
            &format!("a call runs {old} -> {new}"),
        );
    }
}

fn bytes(size: usize) -> String {
    words::size(u64::try_from(size).unwrap_or(u64::MAX))
}

fn by(old: &By, new: &By, about: &mut About<'_>) {
    match (old, new) {
        (
            By::Key {
                required,
                lenient,
                max_length,
                fingerprint,
                release,
            },
            By::Key {
                required: new_required,
                lenient: new_lenient,
                max_length: new_length,
                fingerprint: new_fingerprint,
                release: new_release,
            },
        ) => {
            about.bigger(
                "key",
                (*required, *new_required),
                Kind::Stricter,
                if *new_required {
                    "a request without a key is refused"
                } else {
                    "a request without a key goes ahead, and runs again when it comes again"
                },
            );
            about.bigger(
                "syntax",
                (*lenient, *new_lenient),
                Kind::Looser,
                if *new_lenient {
                    "a key without quotes is read"
                } else {
                    "a key without quotes is refused"
                },
            );
            about.bigger(
                "max_key_length",
                (*max_length, *new_length),
                Kind::Looser,
                &format!("keys of up to {max_length} -> {new_length} bytes are read"),
            );
            if fingerprint != new_fingerprint {
                self::fingerprint(fingerprint, new_fingerprint, about);
            }
            if release != new_release {
                let shown = |statuses: &BTreeSet<u16>| {
                    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                    words::list(&statuses)
                };
                let (old, new) = (shown(release), shown(new_release));
                about.add(
                    Kind::Changed,
                    "release_statuses",
                    &format!("after {old} -> {new} of the origin the next attempt runs"),
                );
            }
        }
        (
            By::Event { sources, status },
            By::Event {
                sources: new_sources,
                status: new_status,
            },
        ) => {
            if sources != new_sources {
                let shown = |sources: &[EventSource]| {
                    let names: Vec<String> = sources.iter().map(source).collect();
                    words::list(&names)
                };
                let (old, new) = (shown(sources), shown(new_sources));
                about.add(Kind::Changed, "by", &format!("an event is told by the first of {old} -> {new}; one that is told by another source than before runs again"));
            }
            if status != new_status {
                let shown = |status: &Option<u16>| {
                    status.map_or_else(|| "the stored answer".to_owned(), |s| s.to_string())
                };
                let (old, new) = (shown(status), shown(new_status));
                about.add(
                    Kind::Changed,
                    "status",
                    &format!("a duplicate is answered with {old} -> {new}"),
                );
            }
        }
        _ => {}
    }
}

fn fingerprint(old: &Fingerprint, new: &Fingerprint, about: &mut About<'_>) {
    let shown = |fingerprint: &Fingerprint| match fingerprint {
        Fingerprint::Body => "its whole body".to_owned(),
        Fingerprint::Json(pointers) => format!("{} of its body", words::list(pointers)),
        Fingerprint::KeyOnly => "its key alone".to_owned(),
    };
    let kind = match (old, new) {
        (_, Fingerprint::KeyOnly) | (Fingerprint::Body, Fingerprint::Json(_)) => Kind::Looser,
        (Fingerprint::KeyOnly, _) | (Fingerprint::Json(_), Fingerprint::Body) => Kind::Stricter,
        _ => Kind::Changed,
    };
    // A record made by the old rule has another digest than the same request has by the new one.
    let across = match (old, new) {
        (Fingerprint::KeyOnly, _) | (_, Fingerprint::KeyOnly) => "",
        _ => "; a retry of a request from before is answered with 422",
    };
    let (old, new) = (shown(old), shown(new));
    about.add(
        kind,
        "fingerprint",
        &format!("a request is the same by {old} -> {new}{across}"),
    );
}

fn source(source: &EventSource) -> String {
    match source {
        EventSource::Header(name) => format!("header {name}"),
        EventSource::Json(pointer) => format!("json {pointer}"),
        EventSource::Digest => "body digest".to_owned(),
    }
}
