//! Several limits at once: all are charged or none, also when swaps are lost in between and the store fails.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use proptest::prelude::*;
use tidegate_core::admission::{Claim, Said, Verdict, admit};
use tidegate_core::gcra::FullAt;
use tidegate_core::key::{Key, Parts, Secret};
use tidegate_core::policy::{LimitId, StoreErrorRule};
use tidegate_core::quota::{Period, Quota, Rate};
use tidegate_core::store::{MAX_SWAPS, MemoryStore, Slot, Store, StoreError, Swap, Version};
use tidegate_core::table::find;

const NOW: u64 = 1_000_000_000_000;

fn key(limit: usize) -> Key {
    let mut parts = Parts::new();
    parts.push(0, &limit.to_le_bytes());
    Secret::new([7; 16]).key(&parts)
}

fn claim(limit: usize, burst: u64, cost: u64) -> Claim {
    let quota = Quota::new(Rate::new(1, Period::Hour).unwrap(), burst).unwrap();
    Claim {
        limit: LimitId(limit),
        key: key(limit),
        set: 0,
        quota,
        ceiling: quota.capacity(),
        cost,
        shadow: false,
    }
}

/// How many units of a limit are taken.
fn taken(store: &mut impl Store, claim: &Claim) -> u64 {
    let slot = Slot::Buckets(claim.limit, claim.set);
    let (bytes, _) = store.read(slot).unwrap();
    let state = find(&bytes, &claim.key, NOW).unwrap().state;
    state.0.saturating_sub(NOW).div_ceil(claim.quota.interval())
}

/// What happens to the swaps of a store, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Another worker charges this bucket first.
    Rival,
    /// The store does not answer.
    Down,
}

/// A store in which other workers and failures come in between.
struct Unruly {
    inner: MemoryStore,
    faults: Vec<Fault>,
    swaps: usize,
    rivals: Vec<u64>,
}

impl Unruly {
    fn new(faults: Vec<Fault>, limits: usize) -> Self {
        Self {
            inner: MemoryStore::new(),
            faults,
            swaps: 0,
            rivals: vec![0; limits],
        }
    }
}

impl Store for Unruly {
    fn secret(&self) -> Secret {
        self.inner.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.inner.read(slot)
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        let fault = self.faults.get(self.swaps).copied().unwrap_or(Fault::None);
        self.swaps += 1;
        let Slot::Buckets(LimitId(limit), _) = slot else {
            panic!("{slot:?}");
        };
        match fault {
            Fault::None => {}
            Fault::Down => return Err(StoreError::Unavailable),
            Fault::Rival => {
                let rival = claim(limit, 3, 1);
                let admission = admit(&mut self.inner, &[rival], StoreErrorRule::Reject, NOW);
                if admission.verdict == Verdict::Admitted {
                    self.rivals[limit] += 1;
                } else {
                    // Drained or not, the rival wrote: an unchanged value under a new version.
                    let (bytes, version) = self.inner.read(slot)?;
                    self.inner.swap(slot, version, &bytes)?;
                }
            }
        }
        self.inner.swap(slot, version, bytes)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn b8_all_or_nothing_when_swaps_are_lost(
        used in prop::collection::vec(0..4_u64, 3),
        rivals in prop::collection::vec(prop_oneof![3 => Just(Fault::None), 2 => Just(Fault::Rival)], 0..12),
    ) {
        let mut store = Unruly::new(Vec::new(), 3);
        let claims: Vec<_> = (0..3).map(|limit| claim(limit, 3, 1)).collect();
        for (claim, used) in claims.iter().zip(&used) {
            for _ in 0..*used {
                admit(&mut store, &[*claim], StoreErrorRule::Reject, NOW);
            }
        }
        store.faults = rivals;
        store.swaps = 0;
        let admission = admit(&mut store, &claims, StoreErrorRule::Reject, NOW);
        let charge = u64::from(admission.verdict == Verdict::Admitted);
        for (index, (claim, used)) in claims.iter().zip(&used).enumerate() {
            let expected = (*used).min(3) + store.rivals[index] + charge;
            let taken = taken(&mut store, claim);
            // A charge that rivals did not let be taken back in eight tries stays, and is counted.
            let stays = u64::from(admission.verdict != Verdict::Admitted && admission.contended > 0);
            prop_assert!((expected..=expected + stays).contains(&taken), "{taken} of {expected}");
            prop_assert!(taken <= 3, "one admission too many");
        }
    }

    /// A store that fails may leave a charge behind, and never gives one back that was not made.
    #[test]
    fn a_failing_store_never_creates_quota(
        used in prop::collection::vec(0..4_u64, 3),
        faults in prop::collection::vec(
            prop_oneof![2 => Just(Fault::None), 1 => Just(Fault::Rival), 1 => Just(Fault::Down)], 0..12),
        pass in any::<bool>(),
    ) {
        let rule = if pass { StoreErrorRule::Pass } else { StoreErrorRule::Reject };
        let mut store = Unruly::new(Vec::new(), 3);
        let claims: Vec<_> = (0..3).map(|limit| claim(limit, 3, 1)).collect();
        for (claim, used) in claims.iter().zip(&used) {
            for _ in 0..*used {
                admit(&mut store, &[*claim], rule, NOW);
            }
        }
        store.faults = faults;
        store.swaps = 0;
        let admission = admit(&mut store, &claims, rule, NOW);
        let mut left_behind = 0;
        for (index, (claim, used)) in claims.iter().zip(&used).enumerate() {
            let others = (*used).min(3) + store.rivals[index];
            let mine = taken(&mut store, claim).checked_sub(others);
            prop_assert!(mine.is_some(), "created quota");
            prop_assert!(mine <= Some(1));
            left_behind += mine.unwrap_or(0);
        }
        if admission.verdict != Verdict::Admitted && left_behind > 0 {
            prop_assert!(admission.store_errors + admission.contended > 0, "uncounted");
        }
    }
}

#[test]
fn b7_every_limit_that_refuses_is_named_with_its_own_wait() {
    let mut store = MemoryStore::new();
    let claims = [claim(0, 1, 1), claim(1, 2, 1), claim(2, 1, 1)];
    assert_eq!(
        admit(&mut store, &claims, StoreErrorRule::Reject, NOW).verdict,
        Verdict::Admitted
    );
    let later = NOW + 60_000_000_000;
    let mut store = Unruly {
        inner: store,
        ..Unruly::new(Vec::new(), 3)
    };
    let refused = admit(&mut store, &claims, StoreErrorRule::Reject, later);
    assert_eq!(refused.verdict, Verdict::Refused);
    let waits: Vec<_> = refused
        .standings
        .iter()
        .map(|standing| match standing.said {
            Said::Wait(wait) => Some(wait / 1_000_000_000),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [Some(3_540), None, Some(3_540)]);
    assert_eq!(
        taken(&mut store, &claims[1]),
        1,
        "charged by a refused request"
    );
}

#[test]
fn a_limit_in_shadow_counts_and_never_denies() {
    let mut store = MemoryStore::new();
    let shadow = Claim {
        shadow: true,
        ..claim(1, 1, 1)
    };
    let claims = [claim(0, 3, 1), shadow];
    for refuses in [false, true, true] {
        let admission = admit(&mut store, &claims, StoreErrorRule::Reject, NOW);
        assert_eq!(admission.verdict, Verdict::Admitted);
        assert_eq!(
            matches!(admission.standings[1].said, Said::Wait(_)),
            refuses
        );
    }
    assert_eq!(taken(&mut store, &claims[0]), 3);
    assert_eq!(taken(&mut store, &shadow), 1);
}

#[test]
fn after_eight_lost_swaps_the_policy_decides() {
    let tries = usize::try_from(MAX_SWAPS).unwrap();
    for (rule, verdict) in [
        (StoreErrorRule::Reject, Verdict::Unavailable),
        (StoreErrorRule::Pass, Verdict::Admitted),
    ] {
        // Rivals that only write and take nothing: the bucket has room all along.
        struct Busy(MemoryStore, usize);
        impl Store for Busy {
            fn secret(&self) -> Secret {
                self.0.secret()
            }
            fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
                self.0.read(slot)
            }
            fn swap(&mut self, _: Slot, _: Version, _: &[u8]) -> Result<Swap, StoreError> {
                self.1 += 1;
                Ok(Swap::Lost)
            }
        }
        let mut store = Busy(MemoryStore::new(), 0);
        let admission = admit(&mut store, &[claim(0, 3, 1)], rule, NOW);
        assert_eq!(
            (admission.verdict, store.1, admission.contended),
            (verdict, tries, 1)
        );
    }
}

#[test]
fn bytes_that_are_no_set_are_a_failure_and_not_an_empty_set() {
    let mut store = MemoryStore::new();
    let claims = [claim(0, 3, 1)];
    let slot = Slot::Buckets(LimitId(0), 0);
    store.swap(slot, Version(0), b"something else").unwrap();
    let admission = admit(&mut store, &claims, StoreErrorRule::Reject, NOW);
    assert_eq!(
        (admission.verdict, admission.store_errors),
        (Verdict::Unavailable, 1)
    );
    assert_eq!(
        admission.standings[0].said,
        Said::Failed(StoreError::Malformed)
    );
    let admission = admit(&mut store, &claims, StoreErrorRule::Pass, NOW);
    assert_eq!(
        (admission.verdict, admission.store_errors),
        (Verdict::Admitted, 1)
    );
    assert_eq!(FullAt::ALWAYS, FullAt(0));
}
