//! A request that is made once: its body on the way in, its answer on the way out, and what became of it when it ends
//! otherwise.

use std::rc::Rc;

use tidegate_core::idempotency::{self, Capture, Outcome, Pending, Running, Turn};
use tidegate_core::policy::Idempotency;
use tidegate_core::records::{Place, Settled, drive};

use crate::gate::{Gate, now};
use crate::host::{self, Level, Map};
use crate::pairs::{self, Pair};

/// How many bytes of bodies one worker holds for one policy: a VM has a gigabyte, and never gives memory back.
const MOST_HELD: usize = 128 << 20;

/// How far a request has come that is made once.
#[derive(Default)]
pub(crate) enum Once {
    /// It is none, or what became of it is known.
    #[default]
    Nothing,
    /// Its body is read; nothing of it has gone on.
    Reading(Box<Pending>),
    /// It went on.
    Running(Running),
    /// Its answer passes by.
    Answering(Running, Capture),
}

/// The header that only we may set.
const REPLAYED: &str = tidegate_core::idempotency::replay::REPLAYED;

impl Once {
    /// Whether something of it is still to be known.
    pub(crate) const fn is_open(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Looks at an answer whose headers have come; `ends`: nothing comes behind them.
    pub(crate) fn answer(&mut self, gate: &Rc<Gate>, headers: &[Pair<'_>], ends: bool) {
        let Self::Running(running) = *self else {
            return;
        };
        *self = Self::Nothing;
        let Some(rule) = gate.rule(&running) else {
            return;
        };
        let status = pairs::status(headers);
        let outcome = outcome(status);
        // Another gate behind this one may have sent an answer again, and says so rightly. In shadow nothing of the answer is ours.
        if running.keeps
            && matches!(outcome, Outcome::Answered(_))
            && pairs::first(headers, REPLAYED.as_bytes()).is_some()
        {
            let _ = host::remove_header(Map::Response, REPLAYED.as_bytes());
        }
        if !matches!(outcome, Outcome::Answered(_))
            && let Some(settled) = outcome.settled(rule)
        {
            gate.settle(&running.place, settled);
            return;
        }
        // Also of an answer that frees the key: it may be the word of a proxy on the way, which does not.
        let capture = if running.keeps {
            Capture::new(status, headers, rule.max_body)
        } else {
            Capture::nothing(status)
        };
        *self = Self::Answering(running, capture);
        if ends {
            self.answered(gate);
        }
    }

    /// How many bytes of bodies it holds.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Reading(pending) => pending.body.held(),
            Self::Answering(_, capture) => capture.held(),
            Self::Nothing | Self::Running(_) => 0,
        }
    }

    /// Keeps no answer.
    pub(crate) fn keep_nothing(&mut self) {
        if let Self::Answering(_, capture) = self {
            *capture = Capture::nothing(capture.status());
        }
    }

    /// Takes the next part of an answer's body.
    pub(crate) fn body(&mut self, gate: &Rc<Gate>, length: usize, ends: bool) {
        let Self::Answering(_, capture) = self else {
            return;
        };
        if !capture.is_too_large() && length > 0 {
            match host::response_body(length) {
                Ok(chunk) => capture.push(&chunk),
                // What cannot be read cannot be sent again.
                Err(host::Failed) => *capture = Capture::nothing(capture.status()),
            }
        }
        if ends {
            self.answered(gate);
        }
    }

    /// Settles by an answer that has come as a whole.
    pub(crate) fn answered(&mut self, gate: &Rc<Gate>) {
        if let Self::Answering(running, capture) = core::mem::take(self)
            && let Some(rule) = gate.rule(&running)
        {
            if let Some(settled) = capture.outcome().settled(rule) {
                gate.settle(&running.place, settled);
                return;
            }
            let stored = capture.stored(running.place.owner);
            gate.store_answer(&running.place, stored.as_deref());
        }
    }

    /// Settles what the end of a stream leaves open.
    pub(crate) fn end(&mut self, gate: &Rc<Gate>) {
        match core::mem::take(self) {
            Self::Nothing => {}
            Self::Reading(pending) => gate.withdraw(&Turn::Read(pending)),
            Self::Running(running) => {
                if let Some(rule) = gate.rule(&running) {
                    // An answer of which nothing was seen is no answer.
                    let settled = match outcome(0) {
                        Outcome::Answered(_) => Outcome::Lost.settled(rule),
                        other => other.settled(rule),
                    };
                    gate.settle(&running.place, settled.unwrap_or(Settled::Unknown));
                }
            }
            Self::Answering(running, _) => {
                if let Some(rule) = gate.rule(&running) {
                    let settled = Outcome::Lost.settled(rule);
                    gate.settle(&running.place, settled.unwrap_or(Settled::Unknown));
                }
            }
        }
    }
}

/// What Envoy says became of the call.
fn outcome(status: u16) -> Outcome {
    let details = host::property(b"response\0code_details").unwrap_or_default();
    let address = host::property(b"upstream\0address").unwrap_or_default();
    match Outcome::of(status, &details, !address.is_empty()) {
        // The last attempt was not sent; one before it may have been.
        Outcome::NotSent if attempts() > 1 => Outcome::Lost,
        outcome => outcome,
    }
}

/// How often Envoy tried.
fn attempts() -> u64 {
    let count = host::property(b"upstream\0request_attempt_count").unwrap_or_default();
    <[u8; 8]>::try_from(count).map_or(0, u64::from_le_bytes)
}

impl Gate {
    /// The rule by which a request is made once.
    pub(crate) fn rule(&self, running: &Running) -> Option<&Idempotency> {
        let route = self.policy.routes.get(running.route)?;
        route.idempotency.as_ref()
    }

    /// Settles a record. What cannot be settled is lost when its lease ends.
    pub(crate) fn settle(&self, place: &Place, settled: Settled) {
        let (store, _) = &mut *self.state.borrow_mut();
        if drive::settle(store, place, settled).is_err() {
            self.metrics.count_store_error();
        }
    }

    /// Gives back what was claimed and charged for a turn that is not taken.
    pub(crate) fn withdraw(&self, turn: &Turn) {
        let (store, _) = &mut *self.state.borrow_mut();
        let withdrawn = now().is_ok_and(|now| idempotency::withdraw(turn, store, now).is_ok());
        if !withdrawn {
            self.metrics.count_store_error();
        }
    }

    /// Counts the bytes of bodies that are held; `false` if these are too many.
    pub(crate) fn hold(&self, before: usize, after: usize) -> bool {
        let held = self.held.get().saturating_sub(before).saturating_add(after);
        let fits = held <= MOST_HELD || after <= before;
        if fits {
            self.held.set(held);
        }
        fits
    }

    /// Takes the next records out that are over. All workers together look at each set once a minute.
    pub(crate) fn sweep(&self, now: u64) {
        let (store, _) = &mut *self.state.borrow_mut();
        if !self.shaped.replace(true) && !store.note_shape() {
            let text = "tidegate: `$.capacity.records` is another number than before: records start anew, and requests that were made once may be made again";
            host::log(Level::Warn, text);
        }
        if drive::sweep_some(store, &self.policy.room, now).is_err() {
            self.metrics.count_store_error();
        }
    }

    /// Settles a record by its answer; `None`: that is too large to be kept.
    pub(crate) fn store_answer(&self, place: &Place, answer: Option<&[u8]>) {
        let Some(answer) = answer else {
            self.settle(place, Settled::TooLarge);
            return;
        };
        let (store, _) = &mut *self.state.borrow_mut();
        if drive::store_answer(store, &self.policy.room, place, answer).is_err() {
            self.metrics.count_store_error();
            // It was answered, and the answer is lost: nobody is to make the call again unasked.
            let _ = drive::settle(store, place, Settled::Unknown);
        }
    }
}
