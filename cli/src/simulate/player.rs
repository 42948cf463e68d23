//! One policy at work on a virtual clock: its store, and what it says to each request.

use tidegate_core::admission::Standing;
use tidegate_core::cases::{self, CaseAnswer, Known};
use tidegate_core::engine::{self, Decision};
use tidegate_core::idempotency::{Running, Turn};
use tidegate_core::key::Secret;
use tidegate_core::policy::{By, EventSource, Mode, Policy, Route};
use tidegate_core::request::Request;
use tidegate_core::route;
use tidegate_core::store::{MemoryStore, Store as _};

use super::caller::{Caller, Callers};
use super::field::Fields;
use super::memo::Memo;
use super::present::{Presenter, Scratch};
use super::record::Record;

/// A policy and the state that requests left behind.
pub(crate) struct Player {
    /// The policy, without what cannot be simulated.
    pub(crate) policy: Policy,
    pub(crate) presenter: Presenter,
    pub(crate) callers: Callers,
    /// The routes whose records are not simulated, because the log does not have what they go by.
    pub(crate) unrecorded: Vec<String>,
    scratch: Scratch,
    /// What is known of callers, if anything can be.
    memo: Option<Memo>,
    store: MemoryStore,
}

/// What a policy said to a request.
pub(crate) struct Verdict<'p> {
    /// The route that it took, by its index.
    pub(crate) route: Option<usize>,
    /// The rule that refuses it: a limit's index, or the name of another rule.
    pub(crate) refused: Option<Refused>,
    /// It was done already.
    pub(crate) replayed: bool,
    /// A shadow policy or route decides so, and changes nothing.
    pub(crate) shadow: bool,
    /// A newcomer met an overflow bucket.
    pub(crate) overflows: u32,
    /// What it costs.
    pub(crate) cost: u64,
    pub(crate) standings: &'p [Standing],
}

/// By what a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refused {
    /// By the limit of this index, the first that refuses.
    Limit(usize),
    /// By a rule that is no limit.
    Rule(&'static str),
}

impl Player {
    pub(crate) fn new(mut policy: Policy, fields: &Fields) -> Self {
        let mut unrecorded = Vec::new();
        let presenter = Presenter::new(&policy, fields);
        for route in &mut policy.routes {
            // Copies that a cache keeps are decided by responses, which are in no log.
            route.cache = None;
            if !keep_records(route, &presenter) {
                unrecorded.push(route.name.clone());
            }
        }
        let callers = Callers::new(&policy, &presenter, fields);
        let memo = Known::is_possible(&policy).then(|| Memo::new(presenter.beside_path()));
        Self {
            policy,
            presenter,
            callers,
            unrecorded,
            scratch: Scratch::default(),
            memo,
            store: MemoryStore::with(Secret::none()),
        }
    }

    /// Decides about a request of the caller with this number at `now`, and tells `look` what was said.
    pub(crate) fn play<T>(
        &mut self,
        record: &Record,
        caller: u64,
        now: u64,
        look: impl FnOnce(Verdict<'_>) -> T,
    ) -> T {
        let Self {
            policy,
            presenter,
            scratch,
            memo,
            store,
            ..
        } = self;
        let policy = &*policy;
        presenter.show(record, scratch, |request| {
            let mut decision = decide(policy, request, (record, caller), memo, store, now);
            // Where it cannot be read the request is refused before a limit is asked.
            let cost = engine::cost(decision.route, request).unwrap_or_default();
            let mut turn = core::mem::take(&mut decision.turn);
            if let Turn::Read(pending) = turn {
                decision = engine::resume(policy, *pending, store, &mut (), now);
                turn = core::mem::take(&mut decision.turn);
            }
            match &turn {
                Turn::Run(running) => answered(policy, running, record.status, store),
                Turn::Detach(detached) => answered(policy, &detached.running, record.status, store),
                Turn::Go | Turn::Read(_) | Turn::Replay(_) => {}
            }
            look(Verdict {
                route: decision.route.and_then(|route| place(policy, route)),
                refused: refused(&decision),
                replayed: matches!(turn, Turn::Replay(_)),
                shadow: decision.mode == Mode::Shadow,
                overflows: decision.counts.overflows,
                cost,
                standings: &decision.standings,
            })
        })
    }

    /// The caller of a request by name.
    pub(crate) fn caller(&mut self, record: &Record) -> Caller {
        let Self {
            policy,
            presenter,
            scratch,
            ..
        } = self;
        presenter.show(record, scratch, |request| Caller::of(policy, request))
    }
}

/// The engine's decision, with what is known of the caller if that will do.
#[inline]
fn decide<'p>(
    policy: &'p Policy,
    request: &Request<'_>,
    (record, caller): (&Record, u64),
    memo: &mut Option<Memo>,
    store: &mut MemoryStore,
    now: u64,
) -> Decision<'p> {
    if let Some(memo) = memo {
        let route = route::find(policy, request);
        let number = route.and_then(|route| place(policy, route));
        let find = || Known::of(policy, request, route, store.secret());
        if let Some(known) = memo.known(record, caller, number, find) {
            return known.decide(policy, request, route, store, now);
        }
    }
    engine::decide(policy, request, store, &mut (), now)
}

/// The index of a route of this policy.
fn place(policy: &Policy, route: &Route) -> Option<usize> {
    policy
        .routes
        .iter()
        .position(|other| std::ptr::eq(other, route))
}

fn refused(decision: &Decision<'_>) -> Option<Refused> {
    let denial = decision.denial.as_ref()?;
    Some(match decision.refusing_limit() {
        Some(limit) => Refused::Limit(limit.0),
        None => Refused::Rule(denial.rule()),
    })
}

/// Leaves of a route's records what a log can tell. `false`: it had some, and nothing is left.
fn keep_records(route: &mut Route, presenter: &Presenter) -> bool {
    use tidegate_core::idempotency::key::HEADER;
    let Some(rule) = &mut route.idempotency else {
        return true;
    };
    let known = match &mut rule.by {
        By::Key { .. } => presenter.field_of_header(HEADER).is_some(),
        By::Event { sources, .. } => {
            // Bodies are in no log.
            sources.retain(|source| match source {
                EventSource::Header(name) => presenter.field_of_header(name).is_some(),
                EventSource::Json(_) | EventSource::Digest => false,
            });
            !sources.is_empty()
        }
    };
    if !known {
        route.idempotency = None;
    }
    known
}

/// Settles the record of a request that ran: by the status in the log, at once.
fn answered(policy: &Policy, running: &Running, status: u16, store: &mut MemoryStore) {
    let answer = CaseAnswer {
        // What a limiter answered then, the origin never saw.
        status: if matches!(status, 0 | 429) {
            200
        } else {
            status
        },
        ..CaseAnswer::default()
    };
    let settled = cases::answered(policy, running, &answer, store);
    debug_assert!(settled.is_ok(), "a store in memory does not fail");
}
