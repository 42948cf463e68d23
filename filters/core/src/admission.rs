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
use crate::store::{MAX_SWAPS, Slot, Store, StoreError, Swap, Version};
use crate::table::{Bucket, Place, Set};

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
    /// What the bucket is worth to this caller.
    pub quota: Quota,
    /// It counts and never denies.
    pub shadow: bool,
    /// What it said.
    pub said: Said,
}

/// What a limit said to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It has room; the level is what is left after the request, if that was charged.
    Room(Level),
    /// It refuses until `wait` nanoseconds have passed.
    Wait {
        /// At least 1.
        wait: u64,
        /// What is there, too little for this request.
        level: Level,
    },
    /// The cost is above the burst.
    Never,
    /// It could not be asked.
    Failed(StoreError),
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every limit has been charged.
    Admitted,
    /// At least one limit refuses for now; none has been charged.
    Refused,
    /// At least one limit can never admit this cost; none has been charged.
    Never,
    /// A limit could not be asked, and the policy says reject.
    Unavailable,
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
}

/// A bucket that was read: what is needed to charge it.
struct Reading {
    bytes: Vec<u8>,
    version: Version,
    bucket: Bucket,
    check: Check,
}

/// A charge that was made: what is needed to take it back.
struct Charged<'a> {
    claim: &'a Claim,
    before: FullAt,
    after: FullAt,
}

/// Asks all limits of a request and charges all of them or none.
pub fn admit<S: Store>(
    store: &mut S,
    claims: &[Claim],
    on_error: StoreErrorRule,
    now: u64,
) -> Admission {
    let mut admission = Admission {
        verdict: Verdict::Admitted,
        standings: Vec::with_capacity(claims.len()),
        overflows: 0,
        store_errors: 0,
        contended: 0,
    };
    let mut readings = Vec::with_capacity(claims.len());
    for claim in claims {
        let reading = read(store, claim, now);
        admission.note(claim, &reading);
        readings.push(reading);
    }
    admission.settle(on_error);
    if admission.verdict != Verdict::Admitted {
        for (claim, reading) in claims.iter().zip(&readings) {
            repair(store, claim, reading, now);
        }
        return admission;
    }

    let mut charged = Vec::with_capacity(claims.len());
    for (index, (claim, reading)) in claims.iter().zip(readings).enumerate() {
        // What could not be read has been counted, and the verdict is that it may pass.
        let Ok(reading) = reading else { continue };
        let said = match charge(store, claim, reading, now) {
            Ok((said, charge)) => {
                charged.extend(charge);
                said
            }
            Err(error) => {
                admission.count(error);
                Said::Failed(error)
            }
        };
        if let Some(standing) = admission.standings.get_mut(index) {
            standing.said = said;
        }
        admission.settle(on_error);
        if admission.verdict != Verdict::Admitted {
            for charge in charged.iter().rev() {
                if let Err(error) = take_back(store, charge, now) {
                    admission.count(error);
                }
            }
            break;
        }
    }
    admission
}

impl Admission {
    /// Writes down what a limit said when it was first asked.
    fn note(&mut self, claim: &Claim, reading: &Result<Reading, StoreError>) {
        let said = match reading {
            Ok(reading) => {
                if reading.bucket.place == Place::Overflow {
                    self.overflows = self.overflows.saturating_add(1);
                }
                Said::from(reading.check)
            }
            Err(error) => {
                self.count(*error);
                Said::Failed(*error)
            }
        };
        self.standings.push(Standing {
            limit: claim.limit,
            quota: claim.quota,
            shadow: claim.shadow,
            said,
        });
    }

    fn count(&mut self, error: StoreError) {
        match error {
            StoreError::Contended => self.contended = self.contended.saturating_add(1),
            StoreError::Unavailable | StoreError::Malformed => {
                self.store_errors = self.store_errors.saturating_add(1);
            }
        }
    }

    /// Draws the verdict from what the limits said. A cost that can never be admitted goes before a wait,
    /// and a wait before a failure, because they are true whatever the failed limit would have said.
    fn settle(&mut self, on_error: StoreErrorRule) {
        let rank = |standing: &Standing| match standing.said {
            _ if standing.shadow => Verdict::Admitted,
            Said::Room(_) => Verdict::Admitted,
            Said::Wait { .. } => Verdict::Refused,
            Said::Never => Verdict::Never,
            Said::Failed(_) => match on_error {
                StoreErrorRule::Reject => Verdict::Unavailable,
                StoreErrorRule::Pass => Verdict::Admitted,
            },
        };
        let said = |verdict| self.standings.iter().any(|s| rank(s) == verdict);
        self.verdict = [Verdict::Never, Verdict::Refused, Verdict::Unavailable]
            .into_iter()
            .find(|verdict| said(*verdict))
            .unwrap_or(Verdict::Admitted);
    }
}

impl From<Check> for Said {
    fn from(check: Check) -> Self {
        match check {
            Check::Now { level, .. } => Self::Room(level),
            Check::Later { wait, level, .. } => Self::Wait { wait, level },
            Check::Never => Self::Never,
        }
    }
}

impl Claim {
    const fn slot(&self) -> Slot {
        Slot {
            limit: self.limit,
            set: self.set,
        }
    }
}

/// Reads a bucket and asks it.
fn read<S: Store>(store: &mut S, claim: &Claim, now: u64) -> Result<Reading, StoreError> {
    let (bytes, version) = store.read(claim.slot())?;
    let bucket = Set::read(&bytes)
        .map_err(|_| StoreError::Malformed)?
        .find(&claim.key, now);
    let check = gcra::check(bucket.state, now, claim.quota, claim.ceiling, claim.cost);
    Ok(Reading {
        bytes,
        version,
        bucket,
        check,
    })
}

/// Stores a new state for a bucket that was read.
fn write<S: Store>(
    store: &mut S,
    claim: &Claim,
    reading: &Reading,
    state: FullAt,
    now: u64,
) -> Result<Swap, StoreError> {
    let bytes = Set::read(&reading.bytes)
        .map_err(|_| StoreError::Malformed)?
        .with(&claim.key, reading.bucket.place, state, now);
    store.swap(claim.slot(), reading.version, &bytes)
}

/// Charges a bucket that had room when it was read, asking again as often as others were faster.
fn charge<'a, S: Store>(
    store: &mut S,
    claim: &'a Claim,
    mut reading: Reading,
    now: u64,
) -> Result<(Said, Option<Charged<'a>>), StoreError> {
    for _ in 0..MAX_SWAPS {
        let Check::Now { charged, .. } = reading.check else {
            return Ok((Said::from(reading.check), None));
        };
        if write(store, claim, &reading, charged, now)? == Swap::Done {
            let charge = Charged {
                claim,
                before: reading.bucket.state,
                after: charged,
            };
            return Ok((Said::from(reading.check), Some(charge)));
        }
        reading = read(store, claim, now)?;
    }
    Err(StoreError::Contended)
}

/// Takes a charge back.
fn take_back<S: Store>(store: &mut S, charge: &Charged<'_>, now: u64) -> Result<(), StoreError> {
    for _ in 0..MAX_SWAPS {
        let reading = read(store, charge.claim, now)?;
        let bucket = reading.bucket;
        let state = gcra::refund(bucket.state, charge.before, charge.after, now);
        if state == bucket.state || write(store, charge.claim, &reading, state, now)? == Swap::Done
        {
            return Ok(());
        }
    }
    Err(StoreError::Contended)
}

/// Stores the possible state in place of an impossible one. Where that fails, whoever comes next repairs.
fn repair<S: Store>(store: &mut S, claim: &Claim, reading: &Result<Reading, StoreError>, now: u64) {
    if let Ok(reading) = reading
        && let Check::Later {
            repaired: Some(state),
            ..
        } = reading.check
    {
        // Lost or failed, the bucket is as it was: no charge hangs on it.
        let _ = write(store, claim, reading, state, now);
    }
}
