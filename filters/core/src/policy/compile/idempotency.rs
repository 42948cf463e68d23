//! Idempotency.

use std::collections::BTreeSet;

use deserr::ValuePointerRef;

use super::dimension::Sources;
use super::duration::{CALL, MEMORY, SECOND, duration};
use super::json_pointer::json_pointer;
use super::number;
use super::size::{MIB, size};
use crate::policy::document::{
    self, FingerprintJson, FingerprintWord, Idempotency as Wire, KeyRule, List, Syntax,
};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{By, Execution, Fingerprint, Idempotency, UnknownRule};
use crate::quota::NANOS_PER_MILLI;

/// The longest key where the route does not say, in bytes.
const DEFAULT_KEY_LENGTH: u64 = 255;

/// By these statuses the origin says that it did not take the request, where the route does not say.
const DEFAULT_RELEASE: [u16; 2] = [429, 503];

/// The largest body that may be read, in mebibytes.
pub(super) const MOST_BODY_MIB: u64 = 64;

/// The most parts of a body in one fingerprint.
const MOST_POINTERS: usize = 16;

/// How long an answer is kept where the route does not say: 24 hours.
const DEFAULT_TTL: u64 = 86_400 * SECOND;

/// The largest body where the route does not say: what Envoy buffers.
pub(super) const DEFAULT_BODY: u64 = MIB;

/// How long a detached call may take where the route does not say: 15 seconds, as an Envoy route's own default.
const DEFAULT_TIMEOUT: u64 = 15 * SECOND;

pub(super) fn idempotency(
    wire: Wire,
    sources: Sources,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Idempotency> {
    let Wire {
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
    if key.is_none() {
        faults.missing(at, "key", "`required` or `optional`");
    }
    if !sources.account && !sources.tenant {
        faults.add(
            at,
            "no caller is ever known, and strangers must not share records; name the sources of `account` or `tenant` in `identity`",
        );
    }
    let memory = memory(ttl, lease, DEFAULT_TTL, at, faults);
    let fingerprint = match fingerprint {
        Some(document::Fingerprint::Word(FingerprintWord::KeyOnly)) => Some(Fingerprint::KeyOnly),
        Some(document::Fingerprint::Word(FingerprintWord::Body)) | None => Some(Fingerprint::Body),
        Some(document::Fingerprint::Json(json)) => {
            pointers(json, at.push_key("fingerprint"), faults).map(Fingerprint::Json)
        }
    };
    if let Some(length) = max_key_length {
        number::within(length, 1..=1024, at.push_key("max_key_length"), faults);
    }
    let max_body = max_body_of(max_body.as_deref(), at, faults);
    let timeout_nanos = match &timeout {
        Some(text) => duration(text, &CALL, at.push_key("timeout"), faults),
        None => Some(DEFAULT_TIMEOUT),
    };
    let execution = match execution {
        Some(document::Execution::Detached) => timeout_nanos.map(|nanos| Execution::Detached {
            timeout: u32::try_from(nanos / NANOS_PER_MILLI).unwrap_or(u32::MAX),
        }),
        Some(document::Execution::Inline) | None => {
            if timeout.is_some() {
                faults.add(
                    at.push_key("timeout"),
                    "a call that is made `inline` has the timeout of its Envoy route; leave this out, or write `\"execution\": \"detached\"`",
                );
            }
            Some(Execution::Inline)
        }
    };
    if let (Some(Execution::Detached { .. }), Some(nanos), Some((_, lease))) =
        (execution, timeout_nanos, memory)
        && nanos > lease
    {
        match &timeout {
            Some(timeout) => {
                let timeout = shown(timeout);
                faults.add(
                    at.push_key("timeout"),
                    format!("a timeout of `{timeout}` is longer than `lease`; write at most that"),
                );
            }
            None => faults.add(
                at.push_key("lease"),
                "a call must end within its lease, and may take `15s` by default; write a longer `lease` or a shorter `timeout`",
            ),
        }
    }
    let release = match release_statuses {
        Some(list) => statuses(list, at.push_key("release_statuses"), faults),
        None => DEFAULT_RELEASE.into(),
    };
    let (ttl, lease) = memory?;
    Some(Idempotency {
        by: By::Key {
            required: matches!(key?, KeyRule::Required),
            lenient: !matches!(syntax, Some(Syntax::Strict)),
            max_length: usize::try_from(max_key_length.unwrap_or(DEFAULT_KEY_LENGTH)).ok()?,
            fingerprint: fingerprint?,
            release,
        },
        ttl,
        lease,
        max_body: max_body?,
        unknown: unknown.map(UnknownRule::from).unwrap_or_default(),
        execution: execution?,
    })
}

/// The largest body, in bytes.
pub(super) fn max_body_of(
    text: Option<&str>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<usize> {
    let bytes = match text {
        Some(text) => size(text, MOST_BODY_MIB, at.push_key("max_body"), faults)?,
        None => DEFAULT_BODY,
    };
    usize::try_from(bytes).ok()
}

/// How long a record lives and how long it may be running, in nanoseconds.
pub(super) fn memory(
    ttl: Option<String>,
    lease: Option<String>,
    default_ttl: u64,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<(u64, u64)> {
    let kept = match &ttl {
        Some(text) => duration(text, &MEMORY, at.push_key("ttl"), faults),
        None => Some(default_ttl),
    };
    let at_lease = at.push_key("lease");
    let running = match &lease {
        Some(text) => duration(text, &MEMORY, at_lease, faults),
        None => Some(SECOND.saturating_mul(60)),
    };
    let (kept, running) = (kept?, running?);
    if running > kept {
        match lease {
            Some(lease) => {
                let lease = shown(&lease);
                faults.add(at_lease, format!("a lease of `{lease}` is longer than `ttl`; write at most that"));
            }
            None => faults.add(at.push_key("ttl"), "a record must outlive its lease, `60s` by default; write a longer `ttl` or a shorter `lease`"),
        }
    }
    Some((kept, running))
}

fn pointers(
    wire: FingerprintJson,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    let FingerprintJson { json } = wire;
    let Some(list) = json else {
        faults.missing(at, "json", "JSON pointers, like `[\"/amount\"]`");
        return None;
    };
    let at = at.push_key("json");
    if list.is_empty() {
        faults.add(
            at,
            "the list is empty; name a part of the body, or write `key-only`",
        );
    }
    faults.at_most(at, MOST_POINTERS, list.len(), "parts");
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
    Some(list.into_iter().flatten().collect())
}

fn statuses(list: List<u64>, at: ValuePointerRef<'_>, faults: &mut Faults) -> BTreeSet<u16> {
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
    let statuses = list.into_iter().flatten();
    statuses
        .filter_map(|status| u16::try_from(status).ok())
        .collect()
}

impl From<document::Unknown> for UnknownRule {
    fn from(wire: document::Unknown) -> Self {
        match wire {
            document::Unknown::Hold => Self::Hold,
            document::Unknown::Retry => Self::Retry,
        }
    }
}
