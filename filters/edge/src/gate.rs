//! The role `gate`: decides about each request on its way in; on the way out it lets a response go to its own caller
//! alone, and adds the rate limit fields.

use core::cell::{Cell, RefCell};
use std::borrow::Cow;
use std::rc::Rc;

use tidegate_core::answer;
use tidegate_core::cache::{self, Marker, Sender};
use tidegate_core::denial::Denial;
use tidegate_core::engine::{self, Decision};
use tidegate_core::idempotency::{Detached, Pending, Turn};
use tidegate_core::ledger::Recent;
use tidegate_core::policy::{Execution, Mode, Policy, RateLimitHeaders};
use tidegate_core::request::Request;
use tidegate_core::ruling::Ruling;

use crate::callbacks::{self, Action};
use crate::copies::{self, Strayed, Told};
use crate::detached::{Call, Calls, Sent};
use crate::facts::{HostFacts, Keys};
use crate::host::{self, Clock, Map};
use crate::memory::Refusals;
use crate::metrics::Metrics;
use crate::notify::Notifier;
use crate::once::Once;
use crate::pairs::{self, Pair};
use crate::response;
use crate::send::{is_grpc, send, send_replay};
use crate::shadow::{self, Would};
use crate::store::SharedStore;
use crate::workers::Worker;

/// Where access logs find the decision: `%FILTER_STATE(wasm.tidegate.decision:PLAIN)%`.
pub(crate) const DECISION: &[u8] = b"tidegate.decision";

/// One of so many requests is measured: two readings of the clock and one of a metric are dearer than a refusal.
const SAMPLED: u32 = 64;

/// A policy, ready to decide: what all streams of a worker share.
pub(crate) struct Gate {
    pub(crate) policy: Policy,
    pub(crate) metrics: Metrics,
    keys: Keys,
    pub(crate) state: RefCell<(SharedStore, Refusals)>,
    pub(crate) strayed: RefCell<Strayed>,
    /// How many bytes of bodies are held.
    pub(crate) held: Cell<usize>,
    /// Whether the number of records was noted.
    pub(crate) shaped: Cell<bool>,
    /// Calls that outlive their clients.
    pub(crate) calls: RefCell<Calls>,
    worker: RefCell<Worker>,
    /// Whom this worker refused since it told the others.
    pub(crate) recent: RefCell<Recent>,
    /// When the last decision was made, on the store's clock.
    pub(crate) asked: Cell<u64>,
    pub(crate) notifier: RefCell<Notifier>,
    /// The number of the next request of this worker.
    number: Cell<u32>,
    /// When this worker looked last how full tables are.
    pub(crate) measured: Cell<u64>,
}

impl Gate {
    /// Gets a policy ready.
    ///
    /// # Errors
    /// A line for the log, where the policy cannot be enforced here.
    pub(crate) fn new(policy: Policy) -> Result<Self, String> {
        let keys = Keys::of(&policy)?;
        let notifier = Notifier::of(&policy)?;
        let store = SharedStore::open(&policy).map_err(|_| {
            "the shared data of this `vm_id` cannot be used; give the policy one of its own"
                .to_owned()
        })?;
        Ok(Self {
            held: Cell::new(0),
            shaped: Cell::new(false),
            calls: RefCell::new(Calls::default()),
            worker: RefCell::new(Worker::new(&policy)),
            recent: RefCell::default(),
            asked: Cell::new(0),
            notifier: RefCell::new(notifier),
            number: Cell::new(0),
            measured: Cell::new(0),
            metrics: Metrics::new(&policy),
            policy,
            keys,
            state: RefCell::new((store, Refusals::new())),
            strayed: RefCell::new(Strayed::new()),
        })
    }

    /// The policy and its version, for the log.
    pub(crate) fn shown(&self) -> String {
        format!(
            "policy `{}` version `{}`",
            self.policy.name, self.policy.version
        )
    }

    /// What is done once a second.
    pub(crate) fn tick(&self) {
        let Ok(now) = now() else { return };
        self.worker.borrow_mut().note(&self.policy, now);
        if self.policy.records() {
            self.sweep(now);
        }
        self.tell_refused(now);
        if self.look(now) {
            self.measure(now);
        }
    }

    /// What is done before the mount goes: what it has seen is not lost with it.
    pub(crate) fn end(&self) {
        if let Ok(now) = now() {
            self.tell_refused(now);
        }
    }

    /// Whether it is measured how long this request takes: one of [`SAMPLED`] is.
    fn samples(&self) -> bool {
        let number = self.number.get();
        self.number.set(number.wrapping_add(1));
        number.is_multiple_of(SAMPLED)
    }

    fn decide(&self, headers: &[Pair<'_>], has_body: bool) -> Decision<'_> {
        // Without a method the list is not the request's: the host hands out an empty one where it is too long.
        let Some(method) = pairs::first(headers, b":method") else {
            return Decision::unread(&self.policy, Denial::HeadersUnreadable);
        };
        let Ok(now) = now() else {
            return Decision::unread(&self.policy, Denial::StoreUnavailable);
        };
        self.asked.set(now);
        let facts = HostFacts::new(&self.keys, has_body);
        let request = Request {
            method,
            path: pairs::first(headers, b":path").unwrap_or_default(),
            authority: pairs::first(headers, b":authority").unwrap_or_default(),
            headers,
            facts: &facts,
        };
        let (store, refusals) = &mut *self.state.borrow_mut();
        engine::decide(&self.policy, &request, store, refusals, now)
    }

    fn resume(&self, pending: Pending) -> Decision<'_> {
        let Ok(now) = now() else {
            return Decision::unread(&self.policy, Denial::StoreUnavailable);
        };
        self.asked.set(now);
        let (store, refusals) = &mut *self.state.borrow_mut();
        engine::resume(&self.policy, pending, store, refusals, now)
    }
}

/// The time on the store's clock. Shared data dies with the process, so its times may be those of a clock that nobody can
/// set back.
pub(crate) fn now() -> Result<u64, host::Failed> {
    let now = host::now(Clock::Monotonic)?;
    #[cfg(feature = "test-switches")]
    let now = now.saturating_add(crate::switches::ahead());
    Ok(now)
}

/// One request and its response.
pub(crate) struct Stream {
    gate: Rc<Gate>,
    /// The request went on, or will when its body has been read: what its response needs.
    passed: Option<Passed>,
    /// How far it has come, if it is made once.
    once: Once,
    /// A marker that Envoy may have written into the body of its own answer.
    marker: Option<Marker>,
    /// How many bytes of the request's body were read.
    read: usize,
    /// How many bytes of bodies are held for it.
    holds: usize,
    /// The stream's number.
    number: u32,
    /// The request, if it is to be made in its client's place.
    sent: Option<Sent>,
    /// What a policy in shadow said of the request, to be compared with what became of it.
    would: Option<Would>,
}

/// What the response to a request needs that went on.
#[derive(Default)]
struct Passed {
    /// What a cache was told of it; `None`: the policy does not speak of caches.
    told: Option<Told>,
    /// The rate limit fields to add; none in shadow.
    fields: Option<Vec<(&'static str, String)>>,
    /// The request's id, should the response have to be withheld.
    id: Option<Vec<u8>>,
    grpc: bool,
}

impl Stream {
    pub(crate) fn new(gate: Rc<Gate>, number: u32) -> Self {
        Self {
            gate,
            passed: None,
            once: Once::Nothing,
            marker: None,
            read: 0,
            holds: 0,
            number,
            sent: None,
            would: None,
        }
    }

    /// Decides about a request by its headers.
    fn gate_request(&mut self, ends: bool) -> Action {
        let gate = Rc::clone(&self.gate);
        let bytes = host::header_pairs(Map::Request).unwrap_or_default();
        let headers = pairs::read(&bytes).unwrap_or_default();
        #[cfg(feature = "test-switches")]
        {
            crate::switches::obey(&headers);
            if let Some(result) = crate::switches::suite(&gate.policy, &headers) {
                let (status, said) = match result {
                    Ok(()) => (200, "every check holds".to_owned()),
                    Err(wrong) => (500, wrong),
                };
                let _ = host::send_response(
                    status,
                    "tidegate_suite",
                    &pairs::write(&[]),
                    said.as_bytes(),
                    -1,
                );
                return Action::Pause;
            }
        }

        let mut decision = gate.decide(&headers, !ends);
        let mut passed = Passed {
            grpc: pairs::first(&headers, b"content-type").is_some_and(is_grpc),
            ..Passed::default()
        };
        if decision.enforced_denial().is_none() && !decision.replays() {
            if matches!(decision.denial, Some(Denial::ReservedName { .. })) {
                copies::blank_reserved(&headers);
            }
            if let Some(plan) = decision.cache.take() {
                match copies::tell(plan, &headers, &mut gate.strayed.borrow_mut()) {
                    Ok(told) => passed.told = Some(told),
                    Err(denial) => decision.denial = Some(denial),
                }
            }
        }
        let rule = decision.route.and_then(|route| route.idempotency.as_ref());
        if matches!(decision.turn, Turn::Read(_) | Turn::Detach(_))
            && rule.is_some_and(|rule| {
                matches!(gate.policy.execution(rule), Execution::Detached { .. })
            })
        {
            self.sent = Sent::of(&headers);
            if self.sent.is_none() {
                decision.denial = Some(Denial::NotRecordable(
                    "outlives its client, and Envoy has a route without a cluster for it",
                ));
            }
        }
        if matches!(decision.turn, Turn::Read(_) | Turn::Run(_)) && decision.mode == Mode::Enforce {
            remove_retries(&headers);
        }
        let id = pairs::first(&headers, b"x-request-id");
        if passed.told.is_some() || matches!(decision.turn, Turn::Read(_)) {
            passed.id = id.map(<[u8]>::to_vec);
        }
        self.passed = Some(passed);
        self.act(&gate, decision, id)
    }

    /// Reads what came of the body, as far as it is needed; decides about the request when it has come as a whole.
    fn gate_body(&mut self, length: usize, ends: bool) -> Action {
        let Once::Reading(pending) = &mut self.once else {
            return Action::Continue;
        };
        // The host shows all that was buffered so far.
        let new = length.saturating_sub(self.read);
        let chunk = host::request_body(self.read, new);
        self.read = length;
        let read = chunk.is_ok_and(|chunk| pending.body.push(&chunk).is_ok());
        let gate = Rc::clone(&self.gate);
        let fits = self.hold();
        if read && fits && !ends {
            return Action::Pause;
        }
        let Once::Reading(pending) = core::mem::take(&mut self.once) else {
            return Action::Continue;
        };
        let decision = if read && fits {
            gate.resume(*pending)
        } else {
            let denial = if read {
                Denial::StoreUnavailable
            } else {
                Denial::BodyTooLarge
            };
            let decision = engine::give_up(&gate.policy, &pending, denial);
            gate.withdraw(&Turn::Read(pending));
            decision
        };
        self.hold();
        let id = self.passed.as_ref().and_then(|passed| passed.id.clone());
        self.act(&gate, decision, id.as_deref())
    }

    /// Counts a decision and does what it says: lets the request go on, holds it, or answers in the origin's place.
    fn act(&mut self, gate: &Rc<Gate>, mut decision: Decision<'_>, id: Option<&[u8]>) -> Action {
        let mut turn = match core::mem::take(&mut decision.turn) {
            Turn::Read(pending) if decision.enforced_denial().is_none() => {
                // Decided, but for what the body says.
                self.once = Once::Reading(pending);
                return Action::Pause;
            }
            turn => turn,
        };
        if let Turn::Detach(detached) = &mut turn
            && decision.enforced_denial().is_none()
            && !self.leave(gate, &decision, detached, id)
        {
            decision.denial = Some(Denial::StoreUnavailable);
        }
        let ruling = Ruling::of(&gate.policy, &decision, &turn);
        gate.metrics.count(&decision, ruling);
        gate.note_refused(&decision, ruling, id);
        // An access log without the decision is not worth a request.
        let said = ruling.shown(decision.mode);
        let _ = host::set_property(DECISION, said.as_bytes());
        shadow::tell(&gate.policy, &decision);
        self.would = Would::of(&gate.policy, &decision, said);

        let grpc = self.passed.as_ref().is_some_and(|passed| passed.grpc);
        if let Some(denial) = decision.enforced_denial() {
            gate.withdraw(&turn);
            self.passed = None;
            let answer = answer::answer(&gate.policy, &decision, denial, id);
            // Where the answer cannot be sent the stream stays stopped: a refused request never goes on.
            let _ = send(&answer, &[], denial.rule(), grpc);
            return Action::Pause;
        }
        match turn {
            Turn::Replay(replay) if decision.mode == Mode::Enforce => {
                self.passed = None;
                if replay.status >= 500 {
                    gate.metrics.count_replayed_error();
                }
                let _ = send_replay(&replay);
                return Action::Pause;
            }
            Turn::Run(running) => self.once = Once::Running(running),
            Turn::Detach(_) => {
                self.passed = None;
                return Action::Pause;
            }
            Turn::Go | Turn::Read(_) | Turn::Replay(_) => {}
        }
        if let Some(passed) = &mut self.passed
            && decision.mode == Mode::Enforce
        {
            let always = gate.policy.headers == RateLimitHeaders::Always;
            let fields = always.then(|| answer::fields(&gate.policy, &decision));
            passed.fields = Some(fields.map_or_else(Vec::new, |f| f.lines().collect()));
        }
        Action::Continue
    }

    /// Counts the bytes that are held for this stream; `false` if there are too many.
    fn hold(&mut self) -> bool {
        let held = self.once.held();
        let fits = self.gate.hold(self.holds, held);
        if fits {
            self.holds = held;
        }
        fits
    }

    /// Leaves the request to be made in its client's place; `false` if there is no room.
    fn leave(
        &mut self,
        gate: &Rc<Gate>,
        decision: &Decision<'_>,
        detached: &mut Detached,
        id: Option<&[u8]>,
    ) -> bool {
        let Some(sent) = self.sent.take() else {
            return false;
        };
        let always = gate.policy.headers == RateLimitHeaders::Always;
        let fields = always.then(|| answer::fields(&gate.policy, decision));
        let told = self.passed.as_ref().and_then(|p| p.told.as_ref());
        let call = Call {
            stream: self.number,
            running: detached.running,
            fields: fields.map_or_else(Vec::new, |fields| fields.lines().collect()),
            id: id.map(<[u8]>::to_vec),
            stale: told.and_then(|told| told.expected.stale),
        };
        gate.detach(sent, core::mem::take(&mut detached.body), call)
    }

    /// Lets the response out, if it is its caller's.
    fn gate_response(&mut self, ends: bool) -> Action {
        // Without: the response is our own.
        let Some(mut passed) = self.passed.take() else {
            return Action::Continue;
        };
        let gate = Rc::clone(&self.gate);
        let fields = passed.fields.take();
        let canary = gate.policy.canary.is_some();
        let joins = canary && fields.as_ref().is_some_and(|fields| !fields.is_empty());
        let bytes = if passed.told.is_some() || self.once.is_open() || joins {
            host::header_pairs(Map::Response).unwrap_or_default()
        } else {
            Vec::new()
        };
        let headers = pairs::read(&bytes).unwrap_or_default();
        match &passed.told {
            Some(told) => match gate.receive(told, &headers, fields.is_some()) {
                Ok(sender) => {
                    self.marker = told.expected.marker.filter(|_| sender == Sender::Envoy);
                }
                Err(mismatch) => {
                    let fields = fields.as_deref().unwrap_or_default();
                    self.once.end(&gate);
                    gate.withhold(mismatch, fields, passed.id.as_deref(), passed.grpc);
                    return Action::Pause;
                }
            },
            // Behind a canary the gate in force has done so, and these are its own.
            None if fields.is_some() && !canary => response::remove_aged_fields(),
            None => {}
        }
        if self.once.is_open() && passed.told.is_some() {
            // As it is now that what was ours is out of it.
            let bytes = host::header_pairs(Map::Response).unwrap_or_default();
            let headers = pairs::read(&bytes).unwrap_or_default();
            self.once.answer(&gate, &headers, ends);
        } else {
            self.once.answer(&gate, &headers, ends);
        }
        let fields = fields.unwrap_or_default();
        // A response without our fields is better than none.
        if joins {
            for (name, value) in answer::join(&fields, &headers) {
                let _ = host::set_header(Map::Response, name.as_bytes(), value.as_bytes());
            }
        } else {
            for (name, value) in fields {
                let _ = host::add_header(Map::Response, name.as_bytes(), value.as_bytes());
            }
        }
        Action::Continue
    }

    /// Takes the marker out of what Envoy itself answered: its bodies may show the path.
    fn scrub_body(&self, length: usize) {
        let Some(marker) = &self.marker else { return };
        let Ok(body) = host::response_body(length) else {
            return;
        };
        if let Cow::Owned(body) = cache::scrub(&body, marker) {
            let _ = host::set_response_body(&body);
        }
    }
}

impl callbacks::Stream for Stream {
    fn on_request_headers(&mut self, ends: bool) -> Action {
        let gate = Rc::clone(&self.gate);
        let begun = gate.samples().then(|| host::now(Clock::Monotonic).ok());
        let action = self.gate_request(ends);
        if let Some(begun) = begun.flatten()
            && let Ok(ended) = host::now(Clock::Monotonic)
        {
            gate.metrics.record_decide(ended.saturating_sub(begun));
        }
        action
    }

    fn on_request_body(&mut self, length: usize, ends: bool) -> Action {
        self.gate_body(length, ends)
    }

    fn on_request_trailers(&mut self) -> Action {
        // The body ends here, and did not say so.
        self.gate_body(self.read, true)
    }

    fn on_response_headers(&mut self, ends: bool) -> Action {
        self.gate_response(ends)
    }

    fn on_response_body(&mut self, length: usize, ends: bool) -> Action {
        self.scrub_body(length);
        self.once.body(&self.gate, length, ends);
        if !self.hold() {
            self.once.keep_nothing();
            self.hold();
        }
        Action::Continue
    }

    fn on_response_trailers(&mut self) -> Action {
        self.once.answered(&self.gate);
        Action::Continue
    }

    fn on_log(&mut self) {
        self.once.end(&self.gate);
        self.hold();
        self.gate.forget(self.number);
        if let Some(would) = self.would.take() {
            self.gate.compare(&would);
        }
    }
}

/// Headers by which a caller has Envoy try again, or hedge: what is made once is tried once.
pub(crate) const RETRIES: [&[u8]; 7] = [
    b"x-envoy-hedge-on-per-try-timeout",
    b"x-envoy-max-retries",
    b"x-envoy-retriable-header-names",
    b"x-envoy-retriable-status-codes",
    b"x-envoy-retry-grpc-on",
    b"x-envoy-retry-on",
    b"x-envoy-upstream-rq-per-try-timeout-ms",
];

/// Takes them out.
fn remove_retries(headers: &[Pair<'_>]) {
    for name in RETRIES {
        if pairs::first(headers, name).is_some() {
            let _ = host::remove_header(Map::Request, name);
        }
    }
}
