//! Several limits at once: a request that any of them refuses is charged to none.
//!
//! First every bucket is read and asked; if one refuses, that is the answer and nothing is written. If all
//! have room, they are charged one by one, each by a swap of what was read; where a swap is lost the bucket
//! is read and asked again. If one then refuses after all, the charges made so far are taken back.
//!
//! # Invariants
//! - *All or nothing*: what is charged when a request is refused is taken back, and taking back never
//!   creates quota ([`gcra::refund`]). What cannot be taken back (the store failed meanwhile) stays charged
//!   and is counted.
//! - *Bounded*: each bucket is swapped at most [`MAX_SWAPS`] times in each direction.

use crate::gcra::{self, Check, FullAt, Level};
use crate::key::Key;
use crate::policy::{LimitId, StoreErrorRule};
use crate::quota::Quota;
use crate::store::{MAX_SWAPS, Seen, Slot, Store, StoreError, Swap};
use crate::table::{self, Bucket, Place};

/// One limit that applies to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The limit.
    pub limit: LimitId,
    /// Whose bucket.
    pub key: Key,
    /// The set of the limit's table that the key belongs to.
    pub set: u32,
    /// What the bucket is worth to this caller.
    pub quota: Quota,
    /// The largest capacity under which this bucket may be charged, in nanoseconds.
    pub ceiling: u64,
    /// What the request costs.
    pub cost: u64,
    /// It counts and never denies.
    pub shadow: bool,
}

/// What one limit said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The limit.
    pub limit: LimitId,
    /// Whose bucket.
    pub key: Key,
    /// What the bucket is worth to this caller.
    pub quota: Quota,
    /// It counts and never denies.
    pub shadow: bool,
    /// What it said.
    pub said: Said,
    /// The state of the bucket: after the request if that was admitted, else without it.
    pub state: FullAt,
    /// When it was asked.
    pub at: u64,
}

impl Standing {
    /// Whether the limit refuses, or would if it were not in shadow.
    pub const fn refuses(&self) -> bool {
        matches!(self.said, Said::Wait(_) | Said::Never)
    }

    /// How full the bucket was when it was asked, the request charged or not.
    pub fn level(&self) -> Level {
        Level::of(self.state, self.at, self.quota)
    }
}

/// What a limit said to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It has room.
    Room,
    /// It refuses until so many nanoseconds have passed: at least 1.
    Wait(u64),
    /// The cost is above the burst.
    Never,
    /// It could not be asked.
    Failed(StoreError),
}

/// What became of a request. The later ones go before the earlier: a cost that can never be admitted and a
/// wait are true whatever a limit that failed would have said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every limit has been charged.
    Admitted,
    /// A limit could not be asked, and the policy says reject.
    Unavailable,
    /// At least one limit refuses for now; none has been charged.
    Refused,
    /// At least one limit can never admit this cost; none has been charged.
    Never,
}

/// The result of [`admit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// What became of the request.
    pub verdict: Verdict,
    /// What each limit said, in the order asked.
    pub standings: Vec<Standing>,
    /// How many buckets were overflow buckets.
    pub overflows: u32,
    /// How often the store failed.
    pub store_errors: u32,
    /// How many buckets were given up because their swaps were lost too often.
    pub contended: u32,
    /// For each limit what its bucket was charged from and to, if it was charged and that may be taken back.
    charges: Vec<Option<(FullAt, FullAt)>>,
}

/// What came of reading a bucket.
type Reading = Result<Read, StoreError>;

/// A bucket that was read: what is needed to charge it, and to take the charge back.
struct Read {
    seen: Seen,
    bucket: Bucket,
    check: Check,
}

/// Asks all limits of a request and charges all of them or none.
pub fn admit<S: Store>(
    store: &mut S,
    claims: &[Claim],
    on_error: StoreErrorRule,
    now: u64,
) -> Admission {
    let (mut admission, readings) = admit_at(store, claims, on_error, now);
    if admission.verdict == Verdict::Admitted {
        admission.charges = readings.iter().map(charged_by).collect();
    }
    admission
}

/// As [`admit`], for a request whose charge is never taken back: [`refund`] finds nothing.
pub fn admit_for_good<S: Store>(
    store: &mut S,
    claims: &[Claim],
    on_error: StoreErrorRule,
    now: u64,
) -> Admission {
    admit_at(store, claims, on_error, now).0
}

fn admit_at<S: Store>(
    store: &mut S,
    claims: &[Claim],
    on_error: StoreErrorRule,
    now: u64,
) -> (Admission, Vec<Reading>) {
    let mut readings: Vec<_> = claims.iter().map(|claim| read(store, claim, now)).collect();
    let alone = |claim: &Claim, reading: &Reading| alone(claim, reading, on_error);
    let verdicts = claims.iter().zip(&readings).map(|(c, r)| alone(c, r));
    let mut verdict = verdicts.max().unwrap_or(Verdict::Admitted);
    let mut not_taken_back = Vec::new();
    if verdict == Verdict::Admitted {
        for (index, claim) in claims.iter().enumerate() {
            let Some((reading, charged)) = split_last(&mut readings, index) else {
                break;
            };
            charge(store, claim, reading, now);
            verdict = alone(claim, reading);
            if verdict != Verdict::Admitted {
                let failed = claims.iter().zip(charged).rev();
                let failed =
                    failed.filter_map(|(c, r)| take_back(store, c, charged_by(r)?, now).err());
                not_taken_back.extend(failed);
                break;
            }
        }
    } else {
        for (claim, reading) in claims.iter().zip(&mut readings) {
            repair(store, claim, reading, now);
        }
    }
    let admission = Admission::new(verdict, claims, &readings, &not_taken_back, now);
    (admission, readings)
}

/// The reading of this index, and those before it.
fn split_last(readings: &mut [Reading], index: usize) -> Option<(&mut Reading, &mut [Reading])> {
    readings
        .get_mut(..=index)
        .and_then(<[Reading]>::split_last_mut)
}

/// What one limit alone would make of the request.
fn alone(claim: &Claim, reading: &Reading, on_error: StoreErrorRule) -> Verdict {
    match reading {
        _ if claim.shadow => Verdict::Admitted,
        Ok(read) => match read.check {
            Check::Now { .. } => Verdict::Admitted,
            Check::Later { .. } => Verdict::Refused,
            Check::Never => Verdict::Never,
        },
        Err(_) => match on_error {
            StoreErrorRule::Reject => Verdict::Unavailable,
            StoreErrorRule::Pass => Verdict::Admitted,
        },
    }
}

impl Admission {
    fn new(
        verdict: Verdict,
        claims: &[Claim],
        readings: &[Reading],
        not_taken_back: &[StoreError],
        now: u64,
    ) -> Self {
        let mut admission = Self {
            verdict,
            standings: Vec::with_capacity(claims.len()),
            overflows: 0,
            store_errors: 0,
            contended: 0,
            charges: Vec::new(),
        };
        for error in not_taken_back {
            admission.count(*error);
        }
        for (claim, reading) in claims.iter().zip(readings) {
            let (said, state) = match reading {
                Ok(read) => {
                    let overflow = u32::from(read.bucket.place == Place::Overflow);
                    admission.overflows = admission.overflows.saturating_add(overflow);
                    match read.check {
                        Check::Now { charged } if verdict == Verdict::Admitted => {
                            (Said::Room, charged)
                        }
                        Check::Now { .. } => (Said::Room, read.bucket.state),
                        Check::Later { wait, .. } => (Said::Wait(wait), read.bucket.state),
                        Check::Never => (Said::Never, read.bucket.state),
                    }
                }
                Err(error) => {
                    admission.count(*error);
                    (Said::Failed(*error), FullAt::ALWAYS)
                }
            };
            admission.standings.push(Standing {
                limit: claim.limit,
                key: claim.key,
                quota: claim.quota,
                shadow: claim.shadow,
                said,
                state,
                at: now,
            });
        }
        admission
    }

    fn count(&mut self, error: StoreError) {
        let counter = match error {
            StoreError::Contended => &mut self.contended,
            StoreError::Unavailable | StoreError::Malformed => &mut self.store_errors,
        };
        *counter = counter.saturating_add(1);
    }
}

impl Claim {
    const fn slot(&self) -> Slot {
        Slot::Buckets(self.limit, self.set)
    }
}

/// Reads a bucket and asks it.
fn read<S: Store>(store: &mut S, claim: &Claim, now: u64) -> Reading {
    let (bucket, seen) = store.look(claim.slot(), |set| table::find(set, &claim.key, now))?;
    let bucket = bucket.map_err(|_| StoreError::Malformed)?;
    let check = gcra::check(bucket.state, now, claim.quota, claim.ceiling, claim.cost);
    Ok(Read {
        seen,
        bucket,
        check,
    })
}

/// Stores a new state for a bucket that was read.
fn write<S: Store>(
    store: &mut S,
    claim: &Claim,
    read: &mut Read,
    state: FullAt,
    now: u64,
) -> Result<Swap, StoreError> {
    let place = read.bucket.place;
    store.edit(claim.slot(), &mut read.seen, |set| {
        table::put(set, &claim.key, place, state, now).map_err(|_| StoreError::Malformed)
    })
}

/// Charges a bucket if it has room, reading it again as often as others were faster.
fn charge<S: Store>(store: &mut S, claim: &Claim, reading: &mut Reading, now: u64) {
    for _ in 0..MAX_SWAPS {
        let Ok(read) = reading else { return };
        let Check::Now { charged } = read.check else {
            return;
        };
        match write(store, claim, read, charged, now) {
            Ok(Swap::Done) => return,
            Ok(Swap::Lost) => *reading = self::read(store, claim, now),
            Err(error) => *reading = Err(error),
        }
    }
    // What was read last may be an answer after all.
    if matches!(reading, Ok(read) if matches!(read.check, Check::Now { .. })) {
        *reading = Err(StoreError::Contended);
    }
}

/// What all limits of a request would say, without a charge.
pub fn ask<S: Store>(
    store: &mut S,
    claims: &[Claim],
    on_error: StoreErrorRule,
    now: u64,
) -> Verdict {
    let verdicts = claims
        .iter()
        .map(|claim| alone(claim, &read(store, claim, now), on_error));
    verdicts.max().unwrap_or(Verdict::Admitted)
}

/// Takes back what [`admit`] charged for a request that is not to be charged after all. What cannot be taken back stays
/// charged.
pub fn refund<S: Store>(store: &mut S, claims: &[Claim], admission: &Admission, now: u64) {
    for (claim, charge) in claims.iter().zip(&admission.charges) {
        if let Some(charge) = charge {
            let _ = take_back(store, claim, *charge, now);
        }
    }
}

/// The charge that followed a reading, if there was one: from which state to which.
fn charged_by(reading: &Reading) -> Option<(FullAt, FullAt)> {
    match reading {
        Ok(Read {
            check: Check::Now { charged },
            bucket: Bucket { state, .. },
            ..
        }) => Some((*state, *charged)),
        _ => None,
    }
}

/// Takes a charge back.
fn take_back<S: Store>(
    store: &mut S,
    claim: &Claim,
    (before, charged): (FullAt, FullAt),
    now: u64,
) -> Result<(), StoreError> {
    for _ in 0..MAX_SWAPS {
        let mut read = read(store, claim, now)?;
        let now = store.later(now);
        let state = gcra::refund(read.bucket.state, before, charged, now);
        if state == read.bucket.state || write(store, claim, &mut read, state, now)? == Swap::Done {
            return Ok(());
        }
    }
    Err(StoreError::Contended)
}

/// Stores the possible state in place of an impossible one. Where that fails, whoever comes next repairs.
fn repair<S: Store>(store: &mut S, claim: &Claim, reading: &mut Reading, now: u64) {
    if let Ok(read) = reading
        && let Check::Later {
            repaired: Some(state),
            ..
        } = read.check
    {
        // Lost or failed, the bucket is as it was: no charge hangs on it.
        let _ = write(store, claim, read, state, now);
    }
}
