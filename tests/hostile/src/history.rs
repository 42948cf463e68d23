//! What happened: what was sent, what reached the origin, what was answered. Times are microseconds since the run began.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::people::Who;

/// Microseconds since the run began.
pub(crate) type Micros = u64;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Charges,
    Orders,
    Uploads,
    Events,
    Mine,
    Shared,
    Public,
    Change,
    Bulk,
    Private,
    Tried,
    Plain,
}

/// How often a request may run under one record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Record {
    /// At most once, whatever becomes of it.
    Once(String),
    /// Until it succeeded, and after an unknown outcome when the lease is over.
    Event(String),
}

/// A request as it was meant.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) number: u64,
    pub(crate) who: Who,
    pub(crate) kind: Kind,
    /// What is hostile about it; empty: nothing.
    pub(crate) hostile: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) record: Option<Record>,
    pub(crate) cost: u64,
    /// Its body is larger than the policy takes.
    pub(crate) large: bool,
    /// It came behind another one on its connection, which that may have ended.
    pub(crate) follows: bool,
    pub(crate) sent: Micros,
}

/// What a caller got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The number of the request that the origin made this answer for.
    pub(crate) made_for: Option<u64>,
    pub(crate) replayed: bool,
    /// The type of a problem document of ours.
    pub(crate) problem: Option<String>,
    /// Every secret in it.
    pub(crate) secrets: BTreeSet<String>,
    /// A name of ours that has no business outside.
    pub(crate) ours: Option<String>,
    /// A digest of the body.
    pub(crate) body: u64,
    /// It came to its end.
    pub(crate) whole: bool,
    /// When its end came.
    pub(crate) at: Micros,
}

/// What became of a request, as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Answered(Answer),
    /// The caller went away, or sent what nobody can answer; where.
    Gone(&'static str),
    /// The stream, or the connection, ended without an answer; how.
    Cut(String),
    /// Nothing came for as long as the caller waited.
    Silent,
}

/// What the origin did with a request.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) number: u64,
    /// When its head came.
    pub(crate) arrived: Micros,
    /// When the request had come as a whole, if it did.
    pub(crate) whole: Option<Micros>,
    /// When the origin had done with it.
    pub(crate) ended: Option<Micros>,
    /// What the origin did.
    pub(crate) conduct: &'static str,
    /// The status of what it answered, if it began to.
    pub(crate) status: Option<u16>,
    /// The answer was sent as a whole.
    pub(crate) complete: bool,
    /// What a cache may keep of the answer, in bytes.
    pub(crate) kept: u64,
    /// A digest of the body.
    pub(crate) body: u64,
    pub(crate) method: String,
    pub(crate) path: String,
    /// A name of ours in it.
    pub(crate) ours: Option<String>,
}

/// What happened so far.
#[derive(Debug)]
pub(crate) struct History {
    began: Instant,
    state: Mutex<Past>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    pub(crate) told: BTreeMap<u64, Told>,
    pub(crate) ends: BTreeMap<u64, End>,
    pub(crate) executions: Vec<Execution>,
    /// Requests at the origin that nobody sent.
    pub(crate) unknown: Vec<String>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            state: Mutex::new(Past::default()),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Micros {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Works on what happened.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Past) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a request is about to be sent.
    pub(crate) fn tell(&self, mut told: Told) {
        told.sent = self.now();
        self.with(|past| past.told.insert(told.number, told));
    }

    /// Notes what became of a request; the first word counts.
    pub(crate) fn end(&self, number: u64, end: End) {
        self.with(|past| {
            past.ends.entry(number).or_insert(end);
        });
    }
}
