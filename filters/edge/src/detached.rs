//! Calls that outlive their clients: made from the root context of the worker, so that a client that hangs up does not take
//! the result with it.
//!
//! A stream leaves its job here and puts a token into a queue of this VM's own, which has the host call the root context;
//! that one makes the call, stores the result and answers the stream, if it is still there.

use core::time::Duration;
use std::collections::{HashMap, HashSet, VecDeque};

use tidegate_core::answer;
use tidegate_core::denial::Denial;
use tidegate_core::engine::Decision;
use tidegate_core::idempotency::{Capture, Outcome, Running};
use tidegate_core::policy::{Execution, Idempotency};
use tidegate_core::records::Settled;
use tidegate_core::reserved;

use crate::gate::{Gate, RETRIES};
use crate::host::{self, Failed, Map};
use crate::pairs::{self, Pair};
use crate::send::send;

/// How many calls one worker has in flight for one policy.
const MOST_CALLS: usize = 256;

/// Header lines of our own, to be added to an answer.
pub(crate) type Fields = Vec<(&'static str, String)>;

/// A request as it is made in its client's place.
pub(crate) struct Sent {
    cluster: Vec<u8>,
    /// In the ABI's encoding.
    headers: Vec<u8>,
}

impl Sent {
    /// The request whose headers these are, to the cluster that Envoy chose; `None` if it chose none.
    pub(crate) fn of(headers: &[Pair<'_>]) -> Option<Self> {
        let cluster = host::property(b"xds\0cluster_name").filter(|name| !name.is_empty())?;
        let headers: Vec<_> = headers
            .iter()
            // The length is that of what we send; the others are about the client's connection.
            .filter(|(name, _)| {
                ![
                    &b"content-length"[..],
                    b"transfer-encoding",
                    b"connection",
                    b"expect",
                    b"keep-alive",
                    b"proxy-connection",
                    b"te",
                    b"trailer",
                    b"upgrade",
                ]
                .contains(name)
                    && !RETRIES.contains(name)
                    && *name != b"x-envoy-upstream-rq-timeout-ms"
            })
            .copied()
            .collect();
        Some(Self {
            cluster,
            headers: pairs::write(&headers),
        })
    }
}

/// A call, and whom its answer is for.
pub(crate) struct Call {
    pub(crate) stream: u32,
    pub(crate) running: Running,
    pub(crate) fields: Fields,
    pub(crate) id: Option<Vec<u8>>,
    /// Which cached copies it ends, if it succeeds.
    pub(crate) stale: Option<u32>,
}

struct Job {
    sent: Sent,
    body: Vec<u8>,
    call: Call,
}

/// The calls of one worker for one policy.
#[derive(Default)]
pub(crate) struct Calls {
    /// Nobody else's: it tells one VM alone. Made when the first call is left.
    queue: Option<u32>,
    jobs: VecDeque<Job>,
    running: HashMap<u32, Call>,
    /// The streams that wait for an answer.
    waiting: HashSet<u32>,
}

impl Calls {
    /// The queue by which the root context is called.
    fn queue(&mut self) -> Result<u32, Failed> {
        if let Some(queue) = self.queue {
            return Ok(queue);
        }
        let name: [u8; 16] = host::random()?;
        let queue = host::queue(&name)?;
        self.queue = Some(queue);
        Ok(queue)
    }
}

impl Gate {
    /// Leaves a call to be made; `false` if there are too many.
    pub(crate) fn detach(&self, sent: Sent, body: Vec<u8>, call: Call) -> bool {
        let calls = &mut *self.calls.borrow_mut();
        let full = calls.jobs.len().saturating_add(calls.running.len()) >= MOST_CALLS;
        let told = !full
            && calls
                .queue()
                .and_then(|queue| host::enqueue(queue, b"job"))
                .is_ok();
        if !told {
            return false;
        }
        calls.waiting.insert(call.stream);
        calls.jobs.push_back(Job { sent, body, call });
        true
    }

    /// Forgets a stream that does not wait any more.
    pub(crate) fn forget(&self, stream: u32) {
        self.calls.borrow_mut().waiting.remove(&stream);
    }

    /// Makes the calls that were left. Called on the root context.
    pub(crate) fn make_calls(&self) {
        // Answered when all are made: an answer has the calls that follow it belong to its stream, and die with that.
        let mut failed = Vec::new();
        loop {
            let job = {
                let calls = &mut *self.calls.borrow_mut();
                calls.queue.map(host::dequeue);
                calls.jobs.pop_front()
            };
            let Some(Job { sent, body, call }) = job else {
                break;
            };
            let timeout = match self.rule(&call.running).map(|rule| rule.execution) {
                Some(Execution::Detached { timeout }) => timeout,
                _ => 0,
            };
            let timeout = Duration::from_millis(timeout.into());
            match host::call(&sent.cluster, &sent.headers, &body, timeout) {
                Ok(number) => {
                    self.calls.borrow_mut().running.insert(number, call);
                }
                Err(Failed) => failed.push(call),
            }
        }
        for call in failed {
            self.settle(&call.running.place, Settled::Released);
            self.deny(&call, Denial::NoAnswer(503));
        }
    }

    /// Stores the answer to a call and gives it to the stream, if that still waits. Called on the root context.
    pub(crate) fn called(&self, number: u32, lines: usize, length: usize) {
        let call = self.calls.borrow_mut().running.remove(&number);
        let Some(call) = call else { return };
        let Some(rule) = self.rule(&call.running) else {
            return;
        };
        let bytes = host::header_pairs(Map::Call).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        let status = pairs::status(&headers);
        let body = host::call_body(length);
        // No headers: the call was reset, or timed out.
        let outcome = match &body {
            Ok(body) if lines > 0 => Outcome::of_call(status, headers.iter().copied(), body),
            _ => Outcome::Lost,
        };
        match outcome.settled(rule) {
            Some(settled) => self.settle(&call.running.place, settled),
            None => self.keep(&call.running, status, &headers, body.as_deref().ok(), rule),
        }
        self.renew(call.stale, status);
        match outcome {
            Outcome::Answered(_) => {
                self.pass_on(&call, status, &headers, &body.unwrap_or_default());
            }
            Outcome::NotSent => self.deny(&call, Denial::NoAnswer(503)),
            Outcome::Lost => self.deny(&call, Denial::NoAnswer(504)),
        }
    }

    fn keep(
        &self,
        running: &Running,
        status: u16,
        headers: &[Pair<'_>],
        body: Option<&[u8]>,
        rule: &Idempotency,
    ) {
        let mut capture = Capture::new(status, headers, rule.max_body);
        let stored = body.and_then(|body| {
            capture.push(body);
            capture.stored(running.place.owner)
        });
        self.store_answer(&running.place, stored.as_deref());
    }

    /// Whether a stream waits for an answer; from now on it does not, and what is sent is sent to it.
    fn turn_to(&self, stream: u32) -> bool {
        let waits = self.calls.borrow_mut().waiting.remove(&stream);
        waits && host::set_context(stream).is_ok()
    }

    /// Answers a stream with what the origin answered.
    fn pass_on(&self, call: &Call, status: u16, headers: &[Pair<'_>], body: &[u8]) {
        if !self.turn_to(call.stream) {
            return;
        }
        let ours = call.fields.iter();
        let ours = ours.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let lines: Vec<Pair<'_>> = headers
            .iter()
            .copied()
            // The host counts the length of what it sends, and the connection is the client's.
            .filter(|(name, _)| {
                !name.starts_with(b":")
                    && !reserved::is_header(name)
                    && ![
                        &b"content-length"[..],
                        b"transfer-encoding",
                        b"connection",
                        b"keep-alive",
                        b"idempotent-replayed",
                    ]
                    .contains(name)
            })
            .chain(ours)
            .collect();
        let lines = pairs::write(&lines);
        let _ = host::send_response(status, "tidegate_detached", &lines, body, -1);
    }

    /// Answers a stream in the origin's place.
    fn deny(&self, call: &Call, denial: Denial) {
        if !self.turn_to(call.stream) {
            return;
        }
        let decision = Decision::unread(&self.policy, denial.clone());
        let answer = answer::answer(&self.policy, &decision, &denial, call.id.as_deref());
        let _ = send(&answer, &call.fields, denial.rule(), false);
    }
}
