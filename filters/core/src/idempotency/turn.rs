//! What is next for a request that may have been done already.

use super::body::Body;
use super::replay::{Replay, accepts};
use super::subject::Subject;
use crate::admission::{self, Admission, Claim, Standing, Verdict};
use crate::denial::Denial;
use crate::engine::{Charged, Counts, Decision, Memory, admit};
use crate::key::Parts;
use crate::ledger::recent::Caller;
use crate::policy::{
    By, Execution, Idempotency, LimitId, Mode, Policy, StoreErrorRule, UnknownRule,
};
use crate::records::machine::Wanted;
use crate::records::{Claimed, Digest, Owner, Place, Record, Settled, State, Stored, drive, set};
use crate::request::Request;
use crate::store::{Store, StoreError};

/// What is next for a request.
#[derive(Debug, Clone, Default)]
pub enum Turn {
    /// It goes on, and nothing is recorded.
    #[default]
    Go,
    /// Its body has to be read first; nothing of it may go on before.
    Read(Box<Pending>),
    /// It goes on, and what becomes of it is recorded.
    Run(Running),
    /// It is made by us in the client's place, and what becomes of it is recorded whether or not the client stays.
    Detach(Box<Detached>),
    /// It was done already: this is the answer.
    Replay(Replay),
}

impl Turn {
    /// An earlier answer of which no more than a status is told.
    fn of_status(status: u16) -> Self {
        Self::Replay(Replay::of_status(status))
    }
}

/// A request whose body has to be read.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Its body, as far as it has come.
    pub body: Body,
    /// The index of its route.
    route: usize,
    subject: Subject,
    /// What the rest of the request was, for its fingerprint.
    head: Parts,
    /// The limits that apply, and are charged if it runs.
    claims: Vec<Claim>,
    /// The record, if it was claimed already, and what the request must be, if it was claimed before.
    ours: Option<(Place, Option<Digest>)>,
    /// What was charged for it.
    charged: Option<Admission>,
    /// The lines of `Accept-Encoding`.
    accepts: Vec<Vec<u8>>,
    owner: Owner,
    /// What was said when its headers came.
    said: Said,
}

/// What a decision said that goes on when a body has been read.
#[derive(Debug, Clone, Default)]
struct Said {
    standings: Vec<Standing>,
    unkeyed: Vec<LimitId>,
    counts: Counts,
    canary: bool,
    caller: Option<Caller>,
}

impl Pending {
    /// Takes what was said so far out of a decision, which is told to nobody.
    fn keep(&mut self, decision: &mut Decision<'_>) {
        self.said = Said {
            standings: core::mem::take(&mut decision.standings),
            unkeyed: core::mem::take(&mut decision.unkeyed),
            counts: core::mem::take(&mut decision.counts),
            canary: decision.canary,
            caller: decision.caller,
        };
    }

    /// Says it in the decision that is told.
    pub(crate) fn say(&mut self, policy: &Policy, decision: &mut Decision<'_>) {
        let Said {
            standings,
            unkeyed,
            counts,
            canary,
            caller,
        } = core::mem::take(&mut self.said);
        if canary {
            decision.enrol(policy);
        }
        decision.standings = standings;
        decision.unkeyed = unkeyed;
        decision.counts = counts;
        decision.caller = caller;
    }

    /// Notes who sent it.
    pub(crate) const fn set_caller(&mut self, caller: Option<Caller>) {
        self.said.caller = caller;
    }

    /// Who sent it.
    pub(crate) const fn caller(&self) -> Option<Caller> {
        self.said.caller
    }

    /// Its caller is in the share of a canary.
    pub(crate) const fn in_canary(&self) -> bool {
        self.said.canary
    }

    /// The index of its route.
    pub(crate) const fn route(&self) -> usize {
        self.route
    }

    /// Its record, if it was claimed already: to be released should the request end before it is whole.
    pub fn place(&self) -> Option<Place> {
        self.ours.map(|(place, _)| place)
    }
}

/// A request that runs: what its record is settled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The index of its route.
    pub route: usize,
    /// Its record.
    pub place: Place,
    /// Its answer is kept. In shadow it is not: nobody would get it.
    pub keeps: bool,
}

/// A request that we make in its client's place.
#[derive(Debug, Clone)]
pub struct Detached {
    /// What its record is settled by.
    pub running: Running,
    /// Its body.
    pub body: Vec<u8>,
    claims: Vec<Claim>,
    charged: Option<Admission>,
}

/// What a turn is taken with.
pub(crate) struct Table<'a, 'p, S, M> {
    pub(crate) policy: &'p Policy,
    pub(crate) store: &'a mut S,
    pub(crate) memory: &'a mut M,
    pub(crate) now: u64,
    pub(crate) decision: &'a mut Decision<'p>,
}

/// Tags of a fingerprint's parts; those of the body are below.
const METHOD: u8 = 10;
const PATH: u8 = 11;
const TYPE: u8 = 12;
const CODING: u8 = 13;

/// The turn of a request of which the headers have come.
pub(crate) fn begin<S: Store, M: Memory>(
    table: &mut Table<'_, '_, S, M>,
    rule: &Idempotency,
    route: usize,
    subject: Subject,
    claims: Vec<Claim>,
    request: &Request<'_>,
) -> Result<Turn, Denial> {
    let mut turn = by_headers(table, rule, route, subject, claims, request)?;
    if let Turn::Read(pending) = &mut turn {
        pending.keep(table.decision);
    }
    Ok(turn)
}

fn by_headers<S: Store, M: Memory>(
    table: &mut Table<'_, '_, S, M>,
    rule: &Idempotency,
    route: usize,
    subject: Subject,
    claims: Vec<Claim>,
    request: &Request<'_>,
) -> Result<Turn, Denial> {
    if table.decision.mode == Mode::Shadow {
        return in_shadow(table, rule, route, &subject, claims, request);
    }
    let lines = |name| request.lines(name).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let execution = table.policy.execution(rule);
    let mut pending = Pending {
        body: Body::new(rule, execution),
        route,
        head: head(request),
        claims,
        ours: None,
        charged: None,
        accepts: lines("accept-encoding"),
        owner: owner(request)?,
        subject,
        said: Said::default(),
    };
    let key = pending.subject.key();
    // An event that a header names is known without its body.
    let known = key.is_some() && matches!(rule.by, By::Event { .. });
    let waits = rule.reads_body_for(execution) && request.facts.has_body() && !known;
    if waits && announced(request) > rule.max_body {
        return Err(Denial::BodyTooLarge);
    }
    let Some(key) = key else {
        if waits {
            // Who is refused anyway need not send a body.
            table.peek(&pending.claims)?;
            return Ok(Turn::Read(Box::new(pending)));
        }
        return proceed(table, rule, pending);
    };
    if !waits {
        return proceed(table, rule, pending);
    }
    let found = table.find(&key)?;
    match found {
        // Nothing is known that a body could be compared with.
        Some(record) if record.fingerprint.is_none() && table.passes(&record) => Ok(Turn::Go),
        // It runs, and what it is will only be known when its own body has come.
        Some(record) if record.fingerprint.is_none() => match record.state_at(table.now) {
            State::Running => Err(Denial::RequestInProgress),
            _ => Ok(Turn::Read(Box::new(pending))),
        },
        Some(_) => Ok(Turn::Read(Box::new(pending))),
        None => match table.run(rule, pending.owner, &pending.claims, key, None)? {
            Run::Go => Ok(Turn::Go),
            Run::Ours(place, known, charged) => {
                pending.ours = Some((place, known));
                pending.charged = charged;
                Ok(Turn::Read(Box::new(pending)))
            }
            // Somebody was faster; what they sent is compared when this body has come.
            Run::Taken(_) => Ok(Turn::Read(Box::new(pending))),
        },
    }
}

/// The turn of a request in shadow: nothing of it waits, so its record is told by its headers alone, and no answer is kept.
fn in_shadow<S: Store, M: Memory>(
    table: &mut Table<'_, '_, S, M>,
    rule: &Idempotency,
    route: usize,
    subject: &Subject,
    claims: Vec<Claim>,
    request: &Request<'_>,
) -> Result<Turn, Denial> {
    let Some(key) = subject.key() else {
        table.charge(&claims)?;
        return Ok(Turn::Go);
    };
    if let Some(record) = table.find(&key)? {
        match record.state_at(table.now) {
            State::Running => return Err(Denial::RequestInProgress),
            State::Unknown if rule.unknown == UnknownRule::Retry => {}
            State::Unknown => return Err(Denial::OutcomeUnknown),
            // What it answered was not kept.
            State::Done(_) | State::TooLarge => return Ok(Turn::of_status(200)),
        }
    }
    let owner = owner(request)?;
    let run = table.run(rule, owner, &claims, key, None)?;
    Ok(match run {
        Run::Ours(place, ..) => Turn::Run(Running {
            route,
            place,
            keeps: false,
        }),
        Run::Go | Run::Taken(_) => Turn::Go,
    })
}

/// A token for an execution.
fn owner(request: &Request<'_>) -> Result<Owner, Denial> {
    let random = request.facts.random().ok_or(Denial::StoreUnavailable)?;
    let owner = random.split_first_chunk::<{ Owner::LEN }>();
    owner
        .map(|(owner, _)| Owner(*owner))
        .ok_or(Denial::StoreUnavailable)
}

/// The turn of a request that has come as a whole.
pub(crate) fn proceed<S: Store, M: Memory>(
    table: &mut Table<'_, '_, S, M>,
    rule: &Idempotency,
    pending: Pending,
) -> Result<Turn, Denial> {
    let (key, fingerprint) = match &rule.by {
        By::Key { fingerprint, .. } => (
            pending.subject.key(),
            pending.body.fingerprint(fingerprint, &pending.head),
        ),
        By::Event { sources, .. } => {
            let key = pending.subject.key();
            (
                key.or_else(|| pending.subject.key_by(sources, &pending.body)),
                None,
            )
        }
    };
    if let Some((place, known)) = pending.ours {
        return table.identified(rule, pending, place, known, fingerprint);
    }
    let Some(key) = key else {
        // An event without an identity is delivered as it is.
        table.charge(&pending.claims)?;
        return Ok(Turn::Go);
    };
    // Each turn ends, but for a record that ends or is freed between two looks.
    for _ in 0..2 {
        if let Some(record) = table.find(&key)?
            && let Some(turn) = table.answer(rule, &pending, &record, fingerprint.as_ref())?
        {
            return Ok(turn);
        }
        match table.run(rule, pending.owner, &pending.claims, key, fingerprint)? {
            Run::Go => return Ok(Turn::Go),
            Run::Ours(place, _, charged) => {
                let pending = Pending { charged, ..pending };
                return Ok(run(table.policy.execution(rule), pending, place));
            }
            Run::Taken(record) => {
                if let Some(turn) = table.answer(rule, &pending, &record, fingerprint.as_ref())? {
                    return Ok(turn);
                }
            }
        }
    }
    Err(Denial::RequestInProgress)
}

/// The turn of a request whose record is ours.
fn run(execution: Execution, pending: Pending, place: Place) -> Turn {
    let running = Running {
        route: pending.route,
        place,
        keeps: true,
    };
    match execution {
        Execution::Inline => Turn::Run(running),
        Execution::Detached { .. } => Turn::Detach(Box::new(Detached {
            running,
            body: pending.body.into_bytes(),
            claims: pending.claims,
            charged: pending.charged,
        })),
    }
}

/// Gives back what was claimed and charged for a turn that is not taken.
///
/// # Errors
/// The store's: the record is lost when its lease ends.
pub fn withdraw<S: Store>(turn: &Turn, store: &mut S, now: u64) -> Result<(), StoreError> {
    let (place, claims, charged) = match turn {
        Turn::Read(pending) => (pending.place(), &pending.claims, &pending.charged),
        Turn::Detach(detached) => (
            Some(detached.running.place),
            &detached.claims,
            &detached.charged,
        ),
        Turn::Run(running) => (Some(running.place), &Vec::new(), &None),
        Turn::Go | Turn::Replay(_) => return Ok(()),
    };
    if let Some(charged) = charged {
        admission::refund(store, claims, charged, now);
    }
    if let Some(place) = place {
        drive::settle(store, &place, Settled::Released)?;
    }
    Ok(())
}

/// What came of charging and claiming.
enum Run {
    /// There is no record, and by the policy's rule it goes on.
    Go,
    Ours(Place, Option<Digest>, Option<Admission>),
    Taken(Record),
}

impl<S: Store, M: Memory> Table<'_, '_, S, M> {
    fn find(&mut self, key: &Digest) -> Result<Option<Record>, Denial> {
        let found = drive::find(self.store, &self.policy.room, key, self.now);
        found.or_else(|error| {
            self.count(error);
            match self.policy.store_error {
                StoreErrorRule::Reject => Err(Denial::StoreUnavailable),
                StoreErrorRule::Pass => Ok(None),
            }
        })
    }

    /// Whether a limit refuses as it is; it is asked again, and charged, when the body has come.
    fn peek(&mut self, claims: &[Claim]) -> Result<(), Denial> {
        let said = admission::ask(self.store, claims, self.policy.store_error, self.now);
        if said != Verdict::Admitted {
            // Refused the way it always is; should it have room by now, it is given back.
            if let Some(admission) = self.charge(claims)? {
                admission::refund(self.store, claims, &admission, self.now);
                self.decision.standings.clear();
            }
        }
        Ok(())
    }

    fn charge(&mut self, claims: &[Claim]) -> Result<Option<Admission>, Denial> {
        if claims.is_empty() {
            return Ok(None);
        }
        admit(
            self.policy,
            claims,
            Charged::MayBeRefunded,
            self.store,
            self.memory,
            self.now,
            self.decision,
        )
    }

    /// Charges, and claims the record; who does not get it is not charged.
    fn run(
        &mut self,
        rule: &Idempotency,
        owner: Owner,
        claims: &[Claim],
        key: Digest,
        fingerprint: Option<Digest>,
    ) -> Result<Run, Denial> {
        let (_, ways) = set::shape(self.policy.room.records);
        let wanted = Wanted {
            key,
            fingerprint,
            owner,
            lease: rule.lease,
            ttl: rule.ttl,
            retries: rule.unknown == UnknownRule::Retry,
            ways,
            shadow: self.decision.mode == Mode::Shadow,
        };
        let admission = self.charge(claims)?;
        let claimed = drive::claim(self.store, &self.policy.room, &wanted, self.now);
        let (rule, run) = match claimed {
            Ok(Claimed::Ours { place, known }) => return Ok(Run::Ours(place, known, admission)),
            Ok(Claimed::Taken(record)) => (None, Run::Taken(record)),
            Ok(Claimed::Full) => {
                let counts = &mut self.decision.counts;
                counts.store_full = counts.store_full.saturating_add(1);
                (Some(self.policy.store_full), Run::Go)
            }
            Err(error) => {
                self.count(error);
                (Some(self.policy.store_error), Run::Go)
            }
        };
        if rule == Some(StoreErrorRule::Pass) {
            return Ok(run);
        }
        if let Some(admission) = admission {
            admission::refund(self.store, claims, &admission, self.now);
            self.decision.standings.clear();
        }
        match rule {
            None => Ok(run),
            Some(_) => Err(Denial::StoreUnavailable),
        }
    }

    /// The turn of a request that was claimed by its headers and has come as a whole.
    fn identified(
        &mut self,
        rule: &Idempotency,
        pending: Pending,
        place: Place,
        known: Option<Digest>,
        fingerprint: Option<Digest>,
    ) -> Result<Turn, Denial> {
        let other = known
            .zip(fingerprint)
            .is_some_and(|(known, own)| !known.is(&own));
        let settled = if other {
            // The one that came first is still the one that counts, and its outcome is still unknown.
            Settled::Released
        } else {
            Settled::Begins {
                fingerprint: fingerprint.filter(|_| known.is_none()),
                lease_ends: self.now.saturating_add(rule.lease),
            }
        };
        let denial = match drive::settle(self.store, &place, settled) {
            Ok(true) if !other => return Ok(run(self.policy.execution(rule), pending, place)),
            Ok(true) => Denial::IdempotencyKeyReused,
            // Its body took longer than its lease, and somebody else runs by now.
            Ok(false) => Denial::RequestInProgress,
            Err(error) => {
                self.count(error);
                // It does not run, and must not count as lost when its lease ends. Once more is all that can be done.
                let _ = drive::settle(self.store, &place, Settled::Released);
                Denial::StoreUnavailable
            }
        };
        if let Some(charged) = &pending.charged {
            admission::refund(self.store, &pending.claims, charged, self.now);
            self.decision.standings.clear();
        }
        Err(denial)
    }

    /// Whether a record is only what a canary noted of somebody who was outside its share, and is inside by now. Whether the
    /// request runs is then left to the gate in force behind, which has the answer, and nobody is charged here for it.
    fn passes(&self, record: &Record) -> bool {
        record.shadow && self.policy.canary.is_some()
    }

    /// What a caller gets who asks again; `None` if the request may run.
    fn answer(
        &mut self,
        rule: &Idempotency,
        pending: &Pending,
        record: &Record,
        fingerprint: Option<&Digest>,
    ) -> Result<Option<Turn>, Denial> {
        if record.is_other(fingerprint) {
            return Err(Denial::IdempotencyKeyReused);
        }
        if self.passes(record) {
            return Ok(Some(Turn::Go));
        }
        let status = match &rule.by {
            By::Key { .. } => None,
            By::Event { status, .. } => Some(*status),
        };
        match (record.state_at(self.now), status) {
            (State::Running, _) => Err(Denial::RequestInProgress),
            (State::Unknown, _) if rule.unknown == UnknownRule::Retry => Ok(None),
            (State::Unknown, _) => Err(Denial::OutcomeUnknown),
            (State::TooLarge, None) => Err(Denial::ResponseNotStored),
            // A sender wants to know that it arrived, and no more.
            (State::TooLarge, Some(status)) => Ok(Some(Turn::of_status(status.unwrap_or(200)))),
            (State::Done(_), Some(Some(status))) => Ok(Some(Turn::of_status(status))),
            (State::Done(_), _) => self.replay(rule, pending, record).map(Some),
        }
    }

    fn replay(
        &mut self,
        rule: &Idempotency,
        pending: &Pending,
        record: &Record,
    ) -> Result<Turn, Denial> {
        let bytes = match drive::answer(self.store, &self.policy.room, record) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                self.count(error);
                return Err(Denial::StoreUnavailable);
            }
        };
        // An answer that is another's by now is none.
        let stored = Stored::read(&bytes).ok_or(Denial::OutcomeUnknown)?;
        let coding = stored
            .headers
            .iter()
            .find(|(name, _)| *name == b"content-encoding");
        if let Some((_, coding)) = coding {
            let lines = || pending.accepts.iter().map(Vec::as_slice);
            let codings = coding.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            if { codings }.any(|coding| !accepts(lines(), coding)) {
                return match rule.by {
                    By::Key { .. } => Err(Denial::ResponseNotStored),
                    // A sender wants to know that it arrived, and no more.
                    By::Event { .. } => Ok(Turn::of_status(stored.status)),
                };
            }
        }
        Ok(Turn::Replay(Replay::new(&stored)))
    }

    fn count(&mut self, error: StoreError) {
        let counts = &mut self.decision.counts;
        let counter = match error {
            StoreError::Contended => &mut counts.contended,
            StoreError::Unavailable | StoreError::Malformed => &mut counts.store_errors,
        };
        *counter = counter.saturating_add(1);
    }
}

/// What a request was, but for its body: nothing that changes from one attempt to the next.
pub(crate) fn head(request: &Request<'_>) -> Parts {
    let mut parts = Parts::new();
    parts.push(METHOD, request.method);
    parts.push(PATH, request.path);
    for (tag, name) in [(TYPE, "content-type"), (CODING, "content-encoding")] {
        for line in request.lines(name) {
            parts.push(tag, line);
        }
    }
    parts
}

/// The length that a request announces, in bytes; 0 if it announces none.
fn announced(request: &Request<'_>) -> usize {
    let line = request.lines("content-length").next();
    let text = line.and_then(|line| core::str::from_utf8(line).ok());
    text.map_or(0, |text| text.parse().unwrap_or(0))
}
