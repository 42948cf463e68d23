//! The decision: policy + request + store + now -> [`Decision`].

use crate::admission::{self, Admission, Claim, Said, Standing, Verdict};
use crate::cache::{self, Plan};
use crate::denial::Denial;
use crate::dimensions::Dimensions;
use crate::idempotency::{self, Pending, Subject, Table, Turn};
use crate::identity::Identity;
use crate::key::Key;
use crate::ledger::recent::Caller;
use crate::policy::{
    Anonymous, Canary, Cost, Dimension, Idempotency, LimitId, Mode, Policy, Route,
};
use crate::quota::NANOS_PER_SEC;
use crate::request::Request;
use crate::reserved;
use crate::route;
use crate::store::Store;
use crate::table;

/// For how long a refusal may be remembered without asking the store, in nanoseconds.
pub const MAX_REMEMBERED: u64 = NANOS_PER_SEC;

/// What was decided about a request.
#[derive(Debug, Clone)]
pub struct Decision<'p> {
    /// The route that the request takes.
    pub route: Option<&'p Route>,
    /// The mode that holds for it.
    pub mode: Mode,
    /// The caller is in the share of a canary.
    pub canary: bool,
    /// Why it is refused; `None`: it is allowed.
    pub denial: Option<Denial>,
    /// What each limit said, in the order asked; empty where no limit was asked.
    pub standings: Vec<Standing>,
    /// Limits in shadow that cannot tell the caller from others: in force, they would refuse it.
    pub unkeyed: Vec<LimitId>,
    /// What operators want to count.
    pub counts: Counts,
    /// What caches are told, if the request goes ahead; `None` where the policy does not speak of caches, or is in
    /// shadow.
    pub cache: Option<Plan>,
    /// What is next for the request, if nothing refuses it.
    pub turn: Turn,
    /// Who shares a cached copy of what the request is for, digested, if somebody compares that and it goes ahead.
    pub sharers: Option<u64>,
    /// Who is refused, or may be when the body has been read; `None` where nobody is, or it cannot be told who.
    pub caller: Option<Caller>,
}

/// What operators want to count about a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Newcomers that met an overflow bucket.
    pub overflows: u32,
    /// Failures of the store.
    pub store_errors: u32,
    /// Buckets given up after too many lost swaps.
    pub contended: u32,
    /// The refusal was remembered; the store was not asked.
    pub remembered: bool,
    /// There was no room for a record.
    pub store_full: u32,
}

impl<'p> Decision<'p> {
    /// The decision about a request that could not be read.
    pub fn unread(policy: &'p Policy, denial: Denial) -> Self {
        Self {
            denial: Some(denial),
            ..Self::about(policy, None)
        }
    }

    /// The decision about a request of this route that nothing refuses so far.
    pub(crate) fn about(policy: &'p Policy, route: Option<&'p Route>) -> Self {
        // Who is in the share of a canary is known when the caller is.
        let canary = policy.canary.as_ref().is_some_and(Canary::is_everybody);
        let mode = match &policy.canary {
            Some(_) if !canary => Mode::Shadow,
            _ => enforced(policy, route),
        };
        Self {
            route,
            mode,
            canary,
            denial: None,
            standings: Vec::new(),
            unkeyed: Vec::new(),
            counts: Counts::default(),
            cache: Plan::of(policy, mode),
            turn: Turn::Go,
            sharers: None,
            caller: None,
        }
    }

    /// The caller is in the share of a canary.
    pub(crate) fn enrol(&mut self, policy: &Policy) {
        self.canary = true;
        self.mode = enforced(policy, self.route);
    }

    /// The first limit that refuses; `None` where something else does, or nothing.
    pub fn refusing_limit(&self) -> Option<LimitId> {
        if !matches!(self.denial, Some(Denial::QuotaExceeded { .. })) {
            return None;
        }
        let refuses = |s: &&Standing| !s.shadow && matches!(s.said, Said::Wait(_));
        self.standings.iter().find(refuses).map(|s| s.limit)
    }

    /// The refusal that the caller is told; `None` in shadow mode, which changes nothing for the caller.
    pub fn enforced_denial(&self) -> Option<&Denial> {
        match self.mode {
            Mode::Enforce => self.denial.as_ref(),
            Mode::Shadow => None,
        }
    }

    /// Whether the caller gets an earlier answer.
    pub fn replays(&self) -> bool {
        self.mode == Mode::Enforce && self.denial.is_none() && matches!(self.turn, Turn::Replay(_))
    }
}

/// The mode of those for whom a policy is enforced. One in shadow has no route that is not.
fn enforced(policy: &Policy, route: Option<&Route>) -> Mode {
    match route.and_then(|route| route.mode) {
        Some(mode) if policy.mode == Mode::Enforce => mode,
        _ => policy.mode,
    }
}

/// How often a refusal is given, each time within a second of the last, before it is repeated from memory. Who
/// is refused now and then is told of every limit that refuses by then; only a flood is told what was true a
/// moment ago.
pub const FLOOD: u32 = 8;

/// A refusal that holds for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// How often it was given, each time while the last one held.
    pub times: u32,
    /// Until when it holds.
    pub until: u64,
    /// When it was made.
    pub since: u64,
    /// What each limit said then.
    pub standings: Vec<Standing>,
}

/// A bounded memory of refusals, so that a flood is refused without asking the store.
pub trait Memory {
    /// Nothing is remembered: there is nothing to look for.
    fn is_empty(&self) -> bool;
    /// What is remembered under `key`.
    fn get(&mut self, key: &Key) -> Option<&Remembered>;
    /// Remembers a refusal; the memory may forget others for it, or this one at once.
    fn put(&mut self, key: Key, refusal: Remembered);
}

/// Remembers nothing.
impl Memory for () {
    fn is_empty(&self) -> bool {
        true
    }

    fn get(&mut self, _: &Key) -> Option<&Remembered> {
        None
    }

    fn put(&mut self, _: Key, _: Remembered) {}
}

/// Decides about a request at `now`, in nanoseconds on a clock of which the store's states are times.
pub fn decide<'p, S: Store, M: Memory>(
    policy: &'p Policy,
    request: &Request<'_>,
    store: &mut S,
    memory: &mut M,
    now: u64,
) -> Decision<'p> {
    let mut decision = Decision::about(policy, route::find(policy, request));
    if let Err(denial) = weigh(policy, request, store, memory, now, &mut decision) {
        decision.denial = Some(denial);
    }
    decision
}

fn weigh<'p, S: Store, M: Memory>(
    policy: &'p Policy,
    request: &Request<'_>,
    store: &mut S,
    memory: &mut M,
    now: u64,
    decision: &mut Decision<'p>,
) -> Result<(), Denial> {
    if let Some(name) = reserved::find(request) {
        return Err(Denial::ReservedName { name });
    }
    let identity = Identity::of(&policy.identity, request).map_err(Denial::IdentityAmbiguous)?;
    if let Some(canary) = &policy.canary
        && canary.takes(policy, &identity, request, decision.route)
    {
        decision.enrol(policy);
    }
    let mut dimensions = Dimensions::new(store.secret(), &identity, request, decision.route);
    let asked = ask(
        policy,
        request,
        &mut dimensions,
        store,
        memory,
        now,
        decision,
    );
    let waits = matches!(decision.turn, Turn::Read(_));
    if asked.is_err() || waits || decision.standings.iter().any(Standing::refuses) {
        decision.caller = caller(policy, &mut dimensions);
    }
    if let Turn::Read(pending) = &mut decision.turn {
        pending.set_caller(decision.caller);
    }
    asked
}

/// Asks records and limits about a request whose caller is known.
fn ask<'p, S: Store, M: Memory>(
    policy: &'p Policy,
    request: &Request<'_>,
    dimensions: &mut Dimensions<'_>,
    store: &mut S,
    memory: &mut M,
    now: u64,
    decision: &mut Decision<'p>,
) -> Result<(), Denial> {
    let claims = claims(policy, request, dimensions, decision)?;
    let identity = dimensions.identity();
    match recorded(policy, request, identity, decision)? {
        Some((rule, route, subject)) => {
            let mut table = Table {
                policy,
                store: &mut *store,
                memory,
                now,
                decision,
            };
            let turn = idempotency::begin(&mut table, rule, route, subject, claims, request)?;
            decision.turn = turn;
        }
        None if claims.is_empty() => {}
        None => {
            admit(
                policy,
                &claims,
                Charged::ForGood,
                store,
                memory,
                now,
                decision,
            )?;
        }
    }
    if let Some(plan) = &mut decision.cache {
        plan.complete(policy, decision.route, identity, request, store)?;
    }
    // On a route that alone is in shadow nothing is said of copies.
    if decision.mode == Mode::Enforce || !policy.tells_caches() {
        decision.sharers = cache::sharers(policy, decision.route, identity, request);
    }
    Ok(())
}

/// Who a caller is, for operators: the tenant and account as far as the policy knows such, or else where they come from.
pub(crate) fn caller(policy: &Policy, dimensions: &mut Dimensions<'_>) -> Option<Caller> {
    let rules = &policy.identity;
    let per: &[Dimension] = match (rules.tenant.is_empty(), rules.account.is_empty()) {
        (false, false) => &[Dimension::Tenant, Dimension::Account],
        (false, true) => &[Dimension::Tenant],
        (true, false) => &[Dimension::Account],
        (true, true) => &[Dimension::Address],
    };
    let key = dimensions.key(per, &Dimension::Address)?;
    let label = policy
        .notify
        .as_ref()
        .and_then(|notify| notify.label_of(dimensions.identity()));
    Some(Caller { key, label })
}

/// Decides about a request whose body has been read, at `now`. What was charged and counted when its headers came is part
/// of the decision.
pub fn resume<'p, S: Store, M: Memory>(
    policy: &'p Policy,
    mut pending: Pending,
    store: &mut S,
    memory: &mut M,
    now: u64,
) -> Decision<'p> {
    let route = policy.routes.get(pending.route());
    let mut decision = Decision::about(policy, route);
    let Some(rule) = route.and_then(|route| route.idempotency.as_ref()) else {
        return decision;
    };
    pending.say(policy, &mut decision);
    let mut table = Table {
        policy,
        store,
        memory,
        now,
        decision: &mut decision,
    };
    match idempotency::proceed(&mut table, rule, pending) {
        Ok(turn) => decision.turn = turn,
        Err(denial) => decision.denial = Some(denial),
    }
    decision
}

/// Refuses a request whose body was to be read, in the mode that held for it.
pub fn give_up<'p>(policy: &'p Policy, pending: &Pending, denial: Denial) -> Decision<'p> {
    let mut decision = Decision::about(policy, policy.routes.get(pending.route()));
    if pending.in_canary() {
        decision.enrol(policy);
    }
    decision.caller = pending.caller();
    decision.denial = Some(denial);
    decision
}

/// What the record of a request is for, by which rule; `None` if it has none.
fn recorded<'p>(
    policy: &'p Policy,
    request: &Request<'_>,
    identity: &Identity<'_>,
    decision: &Decision<'p>,
) -> Result<Option<(&'p Idempotency, usize, Subject)>, Denial> {
    let Some(route) = decision.route else {
        return Ok(None);
    };
    let Some(rule) = &route.idempotency else {
        return Ok(None);
    };
    let index = policy.routes.iter().position(|r| r.name == route.name);
    let subject = idempotency::subject(rule, route, identity, request)?;
    Ok(index
        .zip(subject)
        .map(|(index, subject)| (rule, index, subject)))
}

/// The limits that apply to a request, and whose buckets they are.
pub(crate) fn claims(
    policy: &Policy,
    request: &Request<'_>,
    dimensions: &mut Dimensions<'_>,
    decision: &mut Decision<'_>,
) -> Result<Vec<Claim>, Denial> {
    let identity = dimensions.identity();
    let Decision { route, unkeyed, .. } = decision;
    let route = *route;
    let anonymous = route.map(|route| route.anonymous).unwrap_or_default();
    if anonymous == Anonymous::Deny && identity.account.is_none() {
        return Err(Denial::IdentityRequired);
    }
    let cost = cost(route, request)?;
    let ids = policy
        .always
        .iter()
        .chain(route.iter().flat_map(|route| &route.limits));
    let mut claims = Vec::with_capacity(policy.always.len().saturating_add(4));
    for id in ids {
        let Some(limit) = policy.limits.get(id.0) else {
            continue;
        };
        if anonymous == Anonymous::Allow && limit.needs_account() && identity.account.is_none() {
            continue;
        }
        let Some(key) = dimensions.key(&limit.per, &limit.otherwise) else {
            if limit.shadow {
                unkeyed.push(*id);
                continue;
            }
            return Err(Denial::IdentityRequired);
        };
        claims.push(Claim {
            limit: *id,
            key,
            set: key.place(table::sets(limit.max_keys)),
            quota: limit.quota_of(identity),
            ceiling: limit.ceiling,
            cost,
            shadow: limit.shadow,
        });
    }
    Ok(claims)
}

/// What a request of this route costs: at least 1.
///
/// # Errors
/// [`Denial::CostInvalid`] where the header that says it does not hold one number.
pub fn cost(route: Option<&Route>, request: &Request<'_>) -> Result<u64, Denial> {
    let (name, default) = match route.map(|route| &route.cost) {
        None => return Ok(1),
        Some(Cost::Fixed(cost)) => return Ok(*cost),
        Some(Cost::Header { name, default }) => (name, *default),
    };
    let mut lines = request.lines(name);
    let Some(line) = lines.next() else {
        return Ok(default);
    };
    let digits = lines.next().is_none() && line.iter().all(u8::is_ascii_digit);
    // A number too large to hold is above every burst all the same.
    let cost = line.iter().fold(0_u64, |cost, digit| {
        cost.saturating_mul(10)
            .saturating_add(u64::from(digit.saturating_sub(b'0')))
    });
    if digits && cost > 0 {
        return Ok(cost);
    }
    Err(Denial::CostInvalid {
        header: name.clone(),
    })
}

/// Whether a charge may be taken back when the request has been admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// It stays: what it was need not be kept.
    ForGood,
    /// Something else may refuse the request yet.
    MayBeRefunded,
}

/// Asks the memory, then the store.
pub(crate) fn admit<S: Store, M: Memory>(
    policy: &Policy,
    claims: &[Claim],
    charged: Charged,
    store: &mut S,
    memory: &mut M,
    now: u64,
    decision: &mut Decision<'_>,
) -> Result<Option<Admission>, Denial> {
    let remembered = if memory.is_empty() {
        None
    } else {
        let holds = |refusal: &&Remembered| refusal.since <= now && now < refusal.until;
        memory.get(&memory_key(claims)).filter(holds)
    };
    let times = remembered.map_or(0, |refusal| refusal.times);
    if let Some(refusal) = remembered.filter(|refusal| refusal.times >= FLOOD) {
        decision.standings = aged(&refusal.standings, now.saturating_sub(refusal.since));
        decision.counts.remembered = true;
    } else {
        let mut admission = match charged {
            Charged::ForGood => admission::admit_for_good(store, claims, policy.store_error, now),
            Charged::MayBeRefunded => admission::admit(store, claims, policy.store_error, now),
        };
        decision.standings = core::mem::take(&mut admission.standings);
        let counts = &mut decision.counts;
        counts.overflows = counts.overflows.saturating_add(admission.overflows);
        counts.store_errors = counts.store_errors.saturating_add(admission.store_errors);
        counts.contended = counts.contended.saturating_add(admission.contended);
        match admission.verdict {
            Verdict::Admitted => return Ok(Some(admission)),
            Verdict::Unavailable => return Err(Denial::StoreUnavailable),
            Verdict::Never => {
                let cost = claims.first().map_or(0, |claim| claim.cost);
                return Err(Denial::CostExceedsBurst { cost });
            }
            Verdict::Refused => {
                let soonest = waits(&decision.standings).min().unwrap_or(0);
                memory.put(
                    memory_key(claims),
                    Remembered {
                        times: times.saturating_add(1),
                        since: now,
                        until: now.saturating_add(soonest.min(MAX_REMEMBERED)),
                        standings: decision.standings.clone(),
                    },
                );
            }
        }
    }
    Err(Denial::QuotaExceeded {
        wait: waits(&decision.standings).max().unwrap_or(1),
    })
}

/// The waits of the limits that refuse.
fn waits(standings: &[Standing]) -> impl Iterator<Item = u64> {
    standings.iter().filter_map(|standing| match standing.said {
        Said::Wait(wait) if !standing.shadow => Some(wait),
        _ => None,
    })
}

/// What limits said `age` nanoseconds ago, told now.
fn aged(standings: &[Standing], age: u64) -> Vec<Standing> {
    let mut standings = standings.to_vec();
    for standing in &mut standings {
        if let Said::Wait(wait) = &mut standing.said {
            *wait = wait.saturating_sub(age).max(1);
        }
    }
    standings
}

/// One key for all limits, buckets and the cost of a request: the same request again has the same one, and no
/// other. Limits with the same dimensions have the same keys, so the limit is part of it; callers may share a
/// bucket and not a plan, so is the quota.
fn memory_key(claims: &[Claim]) -> Key {
    claims.iter().fold(Key::ZERO, |key, claim| {
        let LimitId(limit) = claim.limit;
        [
            u64::try_from(limit).unwrap_or(u64::MAX),
            claim.cost,
            claim.quota.capacity(),
            claim.quota.interval(),
        ]
        .into_iter()
        .fold(key, |key, number| key.and(claim.key, number))
    })
}
