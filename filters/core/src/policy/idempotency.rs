//! What a policy says about requests that are sent again.

use std::collections::BTreeSet;

/// How a request that is sent again is recognised, and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// What tells one request from another.
    pub by: By,
    /// How long a record is kept, in nanoseconds.
    pub ttl: u64,
    /// How long a request may run before its outcome counts as unknown, in nanoseconds: at most `ttl`.
    pub lease: u64,
    /// The largest request body that is read and the largest answer that is stored, in bytes.
    pub max_body: usize,
    /// What happens after an unknown outcome.
    pub unknown: UnknownRule,
    /// How the call is made.
    pub execution: Execution,
}

/// What tells one request from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The key that the client chose (`Idempotency-Key`).
    Key {
        /// A request without a key is refused.
        required: bool,
        /// A bare key is read beside a quoted one.
        lenient: bool,
        /// The longest key, in bytes.
        max_length: usize,
        /// What makes two requests with one key the same.
        fingerprint: Fingerprint,
        /// The statuses by which the origin says that it did not take the request.
        release: BTreeSet<u16>,
    },
    /// What happened, whoever says so again.
    Event {
        /// Where the event's identity stands; the first source that is present wins.
        sources: Vec<EventSource>,
        /// The status that answers a duplicate, without a body; `None`: the stored answer does.
        status: Option<u16>,
    },
}

/// What makes two requests with one key the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fingerprint {
    /// Method, path, query, content type and encoding, and body.
    Body,
    /// All of these, but of the body only what these JSON pointers point to.
    Json(Vec<String>),
    /// The key alone.
    KeyOnly,
}

/// Where an event's identity stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventSource {
    /// In a header of one line; the name is in lower case.
    Header(String),
    /// In the body, where this JSON pointer points.
    Json(String),
    /// The body is the event.
    Digest,
}

/// What happens after an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownRule {
    /// At most once: later attempts are refused until the record ends or an operator releases it.
    #[default]
    Hold,
    /// The next attempt runs.
    Retry,
}

/// How the call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// It is the client's own, and ends with it.
    #[default]
    Inline,
    /// It outlives its client.
    Detached {
        /// How long it may take, in milliseconds.
        timeout: u32,
    },
}

impl Idempotency {
    /// Whether the body must be read before it is known which request this is.
    pub fn reads_body(&self) -> bool {
        self.reads_body_for(self.execution)
    }

    /// The same where the call is made in this way.
    pub(crate) fn reads_body_for(&self, execution: Execution) -> bool {
        if matches!(execution, Execution::Detached { .. }) {
            return true;
        }
        match &self.by {
            By::Key { fingerprint, .. } => *fingerprint != Fingerprint::KeyOnly,
            By::Event { sources, .. } => sources
                .iter()
                .any(|source| !matches!(source, EventSource::Header(_))),
        }
    }
}
