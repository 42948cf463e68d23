//! Idempotency.

use deserr::ValuePointerRef;

use super::duration::{CALL, MEMORY, SECOND, duration};
use super::json_pointer::json_pointer;
use super::number;
use super::size::size;
use crate::policy::document::{
    Execution, Fingerprint, FingerprintJson, FingerprintWord, Idempotency, KeyRule, List, Syntax,
    Unknown,
};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

/// The largest body that may be read, in mebibytes.
pub(super) const MOST_BODY_MIB: u64 = 64;

/// The most parts of a body in one fingerprint.
const MOST_POINTERS: usize = 16;

/// How long an answer is kept where the route does not say: 24 hours.
const DEFAULT_TTL: u64 = 86_400 * SECOND;

/// Checks the settings. Nothing is made of them yet: this version keeps no answers.
pub(super) fn check(wire: Idempotency, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let Idempotency {
        key,
        ttl,
        lease,
        fingerprint,
        syntax,
        max_key_length,
        max_body,
        unknown,
        execution,
        timeout,
        release_statuses,
    } = wire;
    match key {
        Some(KeyRule::Required | KeyRule::Optional) => {}
        None => faults.missing(at, "key", "`required` or `optional`"),
    }
    memory(ttl, lease, DEFAULT_TTL, at, faults);
    match fingerprint {
        Some(Fingerprint::Word(FingerprintWord::Body | FingerprintWord::KeyOnly)) | None => {}
        Some(Fingerprint::Json(json)) => pointers(json, at.push_key("fingerprint"), faults),
    }
    match syntax {
        Some(Syntax::Lenient | Syntax::Strict) | None => {}
    }
    if let Some(length) = max_key_length {
        number::within(length, 1..=1024, at.push_key("max_key_length"), faults);
    }
    if let Some(text) = max_body {
        size(&text, MOST_BODY_MIB, at.push_key("max_body"), faults);
    }
    match unknown {
        Some(Unknown::Hold | Unknown::Retry) | None => {}
    }
    match execution {
        Some(Execution::Inline | Execution::Detached) | None => {}
    }
    if let Some(text) = timeout {
        duration(&text, &CALL, at.push_key("timeout"), faults);
    }
    if let Some(list) = release_statuses {
        statuses(list, at.push_key("release_statuses"), faults);
    }
}

/// Checks how long a record lives and how long it may be running.
pub(super) fn memory(
    ttl: Option<String>,
    lease: Option<String>,
    default_ttl: u64,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) {
    let kept = match &ttl {
        Some(text) => duration(text, &MEMORY, at.push_key("ttl"), faults),
        None => Some(default_ttl),
    };
    let at_lease = at.push_key("lease");
    let running = match &lease {
        Some(text) => duration(text, &MEMORY, at_lease, faults),
        None => Some(SECOND.saturating_mul(60)),
    };
    let (Some(kept), Some(running)) = (kept, running) else {
        return;
    };
    if running > kept {
        match lease {
            Some(lease) => {
                let lease = shown(&lease);
                faults.add(at_lease, format!("a lease of `{lease}` is longer than `ttl`; write at most that"));
            }
            None => faults.add(at.push_key("ttl"), "a record must outlive its lease, `60s` by default; write a longer `ttl` or a shorter `lease`"),
        }
    }
}

fn pointers(wire: FingerprintJson, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let FingerprintJson { json } = wire;
    let Some(list) = json else {
        faults.missing(at, "json", "JSON pointers, like `[\"/amount\"]`");
        return;
    };
    let at = at.push_key("json");
    if list.is_empty() {
        faults.add(
            at,
            "the list is empty; name a part of the body, or write `key-only`",
        );
    }
    if list.len() > MOST_POINTERS {
        let count = list.len();
        faults.add(
            at,
            format!("{count} parts are too many; write at most {MOST_POINTERS}"),
        );
    }
    for (index, text) in list.iter().enumerate() {
        let at = at.push_index(index);
        let Some(text) = text else { continue };
        json_pointer(text, at, faults);
        if list
            .iter()
            .take(index)
            .flatten()
            .any(|earlier| earlier == text)
        {
            let text = shown(text);
            faults.add(at, format!("`{text}` stands here twice; keep one"));
        }
    }
}

fn statuses(list: List<u64>, at: ValuePointerRef<'_>, faults: &mut Faults) {
    for (index, status) in list.iter().enumerate() {
        let at = at.push_index(index);
        let Some(status) = *status else { continue };
        number::within(status, 100..=599, at, faults);
        if list
            .iter()
            .take(index)
            .flatten()
            .any(|earlier| *earlier == status)
        {
            faults.add(at, format!("`{status}` stands here twice; keep one"));
        }
    }
}
