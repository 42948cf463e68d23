//! An edge without a network: one policy, one store, one clock.

use std::cell::Cell;

use serde_json::{Value, json};
use tidegate_core::answer::{Answer, answer};
use tidegate_core::cases::CaseFacts;
use tidegate_core::denial::Denial;
use tidegate_core::engine::{self, Decision};
use tidegate_core::idempotency::{Capture, Outcome, Pending, Replay, Running, Turn};
use tidegate_core::policy::{Idempotency, Policy};
use tidegate_core::records::{Settled, drive};
use tidegate_core::request::Request;
use tidegate_core::store::{MemoryStore, Store};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const HOUR: u64 = 3_600 * SECOND;

/// When every story begins, on a clock that is nowhere near zero.
const START: u64 = 1_000_000_000_000_000;

/// How many requests an account has when a story begins; an hour gives one back.
pub(crate) const BURST: u64 = 10;

/// A policy with one route `/charges` of this idempotency, and what `change` makes of it.
pub(crate) fn policy(idempotency: Value, change: impl FnOnce(&mut Value)) -> Policy {
    let mut document = json!({
        "policy": "once", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["tenant", "account"], "rate": "1/h", "burst": BURST}},
        "always": ["account"],
        "routes": [{"name": "charges", "match": {"path": "/charges/*"}, "idempotency": idempotency}],
    });
    change(&mut document);
    let text = document.to_string();
    Policy::parse(text.as_bytes()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// A policy with one route `/hooks` that de-duplicates like this.
pub(crate) fn hooks(dedupe: Value) -> Policy {
    policy(json!({"key": "required"}), |document| {
        document["routes"] = json!([
            {"name": "hooks", "match": {"path": "/hooks/*"}, "dedupe": dedupe},
            {"name": "others", "match": {"path": "/others/*"}, "dedupe": dedupe},
        ]);
    })
}

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) host: &'static str,
    pub(crate) path: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    /// The parts in which the body comes; `None`: there is none.
    pub(crate) body: Option<Vec<Vec<u8>>>,
}

impl Ask {
    /// A `POST` of Amy's with a key and a body.
    pub(crate) fn post(key: &str, body: &str) -> Self {
        Self::bare("/charges/new")
            .with("idempotency-key", key)
            .body(body)
    }

    /// An event of Amy's.
    pub(crate) fn event(body: &str) -> Self {
        Self::bare("/hooks/in").body(body)
    }

    /// A `POST` of Amy's without a key and a body.
    pub(crate) fn bare(path: &'static str) -> Self {
        let caller = [("x-tenant", "acme"), ("x-account", "amy")];
        Self {
            method: "POST",
            host: "api.test",
            path,
            headers: caller.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
            body: None,
        }
    }

    /// With one more header line.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this header line alone, or without the header.
    pub(crate) fn set(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(own, _)| own != name);
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    pub(crate) fn host(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    pub(crate) fn body(self, body: &str) -> Self {
        self.parts([body.as_bytes()])
    }

    pub(crate) fn parts<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self {
            body: Some(parts.into_iter().map(<[u8]>::to_vec).collect()),
            ..self
        }
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Got {
    /// It went on, and nothing is recorded.
    Went,
    /// It went on, and what becomes of it is recorded.
    Ran(Running),
    Replayed(Replay),
    Refused(Denial),
}

impl Got {
    pub(crate) fn ran(self) -> Running {
        match self {
            Self::Ran(running) => running,
            other => panic!("it did not run: {other:?}"),
        }
    }

    pub(crate) fn replayed(self) -> Replay {
        match self {
            Self::Replayed(replay) => replay,
            other => panic!("it was not replayed: {other:?}"),
        }
    }

    pub(crate) fn refused(self) -> Denial {
        match self {
            Self::Refused(denial) => denial,
            other => panic!("it was not refused: {other:?}"),
        }
    }
}

/// What came of a request's headers.
pub(crate) enum Half {
    /// Its body has to be read.
    Reading(Box<Pending>),
    Got(Got),
}

impl Half {
    pub(crate) fn reading(self) -> Box<Pending> {
        match self {
            Self::Reading(pending) => pending,
            Self::Got(got) => panic!("its body is not read: {got:?}"),
        }
    }

    pub(crate) fn got(self) -> Got {
        match self {
            Self::Got(got) => got,
            Self::Reading(_) => panic!("its body is read"),
        }
    }
}

pub(crate) struct World<S = MemoryStore> {
    pub(crate) policy: Policy,
    pub(crate) store: S,
    pub(crate) now: u64,
    randoms: u64,
    /// What was last decided: the answer's header fields and what operators count.
    pub(crate) last: Option<Last>,
}

impl World {
    pub(crate) fn new(policy: Policy) -> Self {
        Self::on(policy, MemoryStore::new())
    }

    /// With the default idempotency, but for `idempotency`.
    pub(crate) fn of(idempotency: Value) -> Self {
        Self::new(policy(idempotency, |_| {}))
    }

    /// How many requests Amy has left.
    pub(crate) fn left(&self) -> u64 {
        let mut store = self.store.clone();
        let ask = Ask::bare("/elsewhere").method("GET");
        let decision = decided(&self.policy, &mut store, self.now, &ask, 0);
        match decision.denial {
            None => decision.standings[0].level().units + 1,
            Some(_) => 0,
        }
    }
}

/// The decision about a request by its headers.
pub(crate) fn decided<'p, S: Store>(
    policy: &'p Policy,
    store: &mut S,
    now: u64,
    ask: &Ask,
    randoms: u64,
) -> Decision<'p> {
    let facts = CaseFacts {
        address: "192.0.2.1:4711".to_owned(),
        has_body: ask.body.is_some(),
        randoms: Cell::new(randoms),
        ..CaseFacts::default()
    };
    let headers: Vec<_> = ask
        .headers
        .iter()
        .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
        .collect();
    let request = Request {
        method: ask.method.as_bytes(),
        path: ask.path.as_bytes(),
        authority: ask.host.as_bytes(),
        headers: &headers,
        facts: &facts,
    };
    engine::decide(policy, &request, store, &mut (), now)
}

impl<S: Store> World<S> {
    pub(crate) fn on(policy: Policy, store: S) -> Self {
        Self {
            policy,
            store,
            now: START,
            randoms: 0,
            last: None,
        }
    }

    /// Sends a whole request.
    pub(crate) fn send(&mut self, ask: &Ask) -> Got {
        match self.head(ask) {
            Half::Got(got) => got,
            Half::Reading(pending) => self.rest(pending, ask),
        }
    }

    /// Sends a request's headers.
    pub(crate) fn head(&mut self, ask: &Ask) -> Half {
        self.randoms += 1;
        let Self {
            policy, store, now, ..
        } = self;
        let mut decision = decided(policy, store, *now, ask, self.randoms);
        decision.turn = match std::mem::take(&mut decision.turn) {
            Turn::Read(pending) => {
                assert_eq!(decision.denial, None);
                return Half::Reading(pending);
            }
            turn => turn,
        };
        let (got, last) = done(policy, decision);
        self.last = Some(last);
        Half::Got(got)
    }

    /// Sends a request's body, where it is read.
    pub(crate) fn rest(&mut self, mut pending: Box<Pending>, ask: &Ask) -> Got {
        for part in ask.body.iter().flatten() {
            if pending.body.push(part).is_err() {
                self.give_up(&pending);
                return Got::Refused(Denial::BodyTooLarge);
            }
        }
        let Self {
            policy, store, now, ..
        } = self;
        let decision = engine::resume(policy, *pending, store, &mut (), *now);
        let (got, last) = done(policy, decision);
        self.last = Some(last);
        got
    }

    /// The client goes before its request has come as a whole.
    pub(crate) fn give_up(&mut self, pending: &Pending) {
        if let Some(place) = pending.place() {
            drive::settle(&mut self.store, &place, Settled::Released).unwrap();
        }
    }

    fn rule(&self, running: &Running) -> Idempotency {
        let rule = self.policy.routes[running.route].idempotency.as_ref();
        rule.unwrap().clone()
    }

    /// The origin answers; `false` if that came too late.
    pub(crate) fn answer(
        &mut self,
        running: &Running,
        status: u16,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> bool {
        let rule = self.rule(running);
        if let Some(settled) = Outcome::Answered(status).settled(&rule) {
            return drive::settle(&mut self.store, &running.place, settled).unwrap();
        }
        let headers: Vec<_> = headers
            .iter()
            .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
            .collect();
        let mut capture = Capture::new(status, &headers, rule.max_body);
        for chunk in body.chunks(7) {
            capture.push(chunk);
        }
        match capture.stored(running.place.owner) {
            Some(answer) => {
                drive::store_answer(&mut self.store, &self.policy.room, &running.place, &answer)
                    .unwrap()
            }
            None => drive::settle(&mut self.store, &running.place, Settled::TooLarge).unwrap(),
        }
    }

    /// The call ends without an answer.
    pub(crate) fn end(&mut self, running: &Running, outcome: Outcome) {
        let settled = outcome.settled(&self.rule(running)).unwrap();
        drive::settle(&mut self.store, &running.place, settled).unwrap();
    }

    /// Sends a request that runs, and answers it.
    pub(crate) fn run(&mut self, ask: &Ask, status: u16, body: &[u8]) -> Running {
        let running = self.send(ask).ran();
        assert!(self.answer(&running, status, &[("x-answer", "first")], body));
        running
    }
}

/// What a caller is sent for a refusal.
pub(crate) fn told(policy: &Policy, denial: &Denial) -> Answer {
    let mut decision = Decision::unread(policy, denial.clone());
    decision.denial = Some(denial.clone());
    answer(policy, &decision, denial, None)
}

/// The rate limit fields, and what operators count.
type Last = (Vec<(&'static str, String)>, engine::Counts);

fn done(policy: &Policy, decision: Decision<'_>) -> (Got, Last) {
    let fields = tidegate_core::answer::fields(policy, &decision);
    let last = (fields.lines().collect(), decision.counts);
    let got = match (decision.denial, decision.turn) {
        (Some(denial), _) => Got::Refused(denial),
        (None, Turn::Go) => Got::Went,
        (None, Turn::Run(running)) => Got::Ran(running),
        (None, Turn::Detach(detached)) => Got::Ran(detached.running),
        (None, Turn::Replay(replay)) => Got::Replayed(replay),
        (None, Turn::Read(_)) => panic!("it was read already"),
    };
    (got, last)
}
