//! The bucket beside a small obvious model, over random quotas, costs and clocks.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use proptest::prelude::*;
use tidegate_core::gcra::{Check, FullAt, Level, SKEW, check, refund};
use tidegate_core::quota::{Period, Quota, Rate};

/// Far enough from zero for a clock that steps back by years.
const START: u64 = 2_000_000_000_000_000_000;

/// A bucket as one would explain it: it drips full, and a request takes from it.
struct Model {
    quota: Quota,
    /// How full, in nanoseconds' worth.
    credit: u64,
    last: u64,
}

impl Model {
    fn new(quota: Quota, now: u64) -> Self {
        Self {
            quota,
            credit: quota.capacity(),
            last: now,
        }
    }

    fn ask(&mut self, now: u64, cost: u64) -> bool {
        self.credit = (self.credit + (now - self.last)).min(self.quota.capacity());
        self.last = now;
        let takes = cost * self.quota.interval();
        let admits = takes <= self.credit;
        if admits {
            self.credit -= takes;
        }
        admits
    }
}

fn quotas() -> impl Strategy<Value = Quota> {
    let periods = prop_oneof![
        Just(Period::Second),
        Just(Period::Minute),
        Just(Period::Hour),
        Just(Period::Day)
    ];
    (1..5_000_u64, periods, 1..200_u64).prop_filter_map("too long", |(units, period, burst)| {
        Quota::new(Rate::new(units, period).ok()?, burst).ok()
    })
}

/// Steps of the clock that matter to a quota: from nothing to several refills.
fn steps(quota: Quota) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let interval = quota.interval();
    let gap = prop_oneof![
        Just(0),
        Just(1),
        0..interval,
        Just(interval - 1),
        Just(interval),
        0..quota.capacity() * 2
    ];
    let cost = prop_oneof![8 => 1..4_u64, 1 => 1..quota.burst() + 2];
    prop::collection::vec((gap, cost), 1..200)
}

fn quota_and_steps() -> impl Strategy<Value = (Quota, Vec<(u64, u64)>)> {
    quotas().prop_flat_map(|quota| (Just(quota), steps(quota)))
}

fn ask(state: &mut FullAt, now: u64, quota: Quota, cost: u64) -> Check {
    let said = check(*state, now, quota, quota.capacity(), cost);
    if let Check::Now { charged } = said {
        *state = charged;
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn decides_as_the_model_does((quota, steps) in quota_and_steps()) {
        let (mut state, mut now) = (FullAt::ALWAYS, START);
        let mut model = Model::new(quota, now);
        for (gap, cost) in steps {
            now += gap;
            let said = ask(&mut state, now, quota, cost);
            prop_assert_eq!(matches!(said, Check::Now { .. }), model.ask(now, cost));
            let level = Level::of(state, now, quota);
            prop_assert_eq!(level.units, model.credit / quota.interval());
            // The next unit is there exactly when it is said to be.
            if level.next > 0 {
                let then = |time| Level::of(state, time, quota).units;
                prop_assert_eq!(then(now + level.next), level.units + 1);
                prop_assert_eq!(then(now + level.next - 1), level.units);
            }
        }
    }

    #[test]
    fn never_more_than_burst_and_rate_in_any_window((quota, steps) in quota_and_steps()) {
        let (mut state, mut now) = (FullAt::ALWAYS, START);
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for (gap, cost) in steps {
            now += gap;
            if let Check::Now { .. } = ask(&mut state, now, quota, cost) {
                admitted.push((now, cost));
            }
        }
        for (first, (from, _)) in admitted.iter().enumerate() {
            let mut taken = 0_u128;
            for (until, cost) in &admitted[first..] {
                taken += u128::from(*cost) * u128::from(quota.rate().period().nanos());
                // In units times period, so that the rate is the one that was written.
                let back = u128::from(until - from) * u128::from(quota.rate().units());
                let burst = u128::from(quota.burst()) * u128::from(quota.rate().period().nanos());
                prop_assert!(taken <= burst + back);
            }
        }
    }

    /// B3, B4: admitted exactly when it said, and not a nanosecond earlier.
    #[test]
    fn b3_admits_exactly_when_it_said((quota, steps) in quota_and_steps()) {
        let (mut state, mut now) = (FullAt::ALWAYS, START);
        for (gap, cost) in steps {
            now += gap;
            if let Check::Later { wait, .. } = ask(&mut state, now, quota, cost) {
                prop_assert!(wait >= 1);
                let at = |time| check(state, time, quota, quota.capacity(), cost);
                prop_assert!(matches!(at(now + wait), Check::Now { .. }), "as it said");
                prop_assert!(matches!(at(now + wait - 1), Check::Later { wait: 1, .. }), "not earlier");
            }
        }
    }

    /// B9: a refusal never moves a bucket.
    #[test]
    fn b9_hammering_does_not_lengthen_the_wait((quota, steps) in quota_and_steps(), hits in 1..50_u64) {
        let (mut state, mut now) = (FullAt::ALWAYS, START);
        for (gap, cost) in steps {
            now += gap;
            if let Check::Later { wait, repaired, .. } = ask(&mut state, now, quota, cost) {
                prop_assert_eq!(repaired, None);
                for hit in 0..hits.min(wait) {
                    let Check::Later { wait: later, .. } = ask(&mut state, now + hit, quota, cost) else {
                        return Err(TestCaseError::fail("admitted early"));
                    };
                    prop_assert_eq!(later, wait - hit);
                }
            }
        }
    }

    /// B10: a clock that steps back gives no free burst, and no wait longer than an empty bucket's.
    #[test]
    fn b10_a_clock_that_steps_back_gives_nothing(
        (quota, steps) in quota_and_steps(),
        back in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (mut state, mut now, mut forward) = (FullAt::ALWAYS, START, 0_u128);
        let mut taken = 0_u128;
        for (index, (gap, cost)) in steps.iter().enumerate() {
            if back.iter().any(|at| at.index(steps.len()) == index) {
                now -= quota.capacity() * 3;
            } else {
                now += gap;
                forward += u128::from(*gap);
            }
            match check(state, now, quota, quota.capacity(), *cost) {
                Check::Now { charged } => {
                    state = charged;
                    taken += u128::from(*cost) * u128::from(quota.interval());
                }
                Check::Later { wait, repaired, .. } => {
                    prop_assert!(wait <= quota.capacity() + SKEW);
                    if let Some(repaired) = repaired {
                        prop_assert!(repaired < state);
                        state = repaired;
                        let again = check(state, now + wait, quota, quota.capacity(), *cost);
                        let admitted = matches!(again, Check::Now { .. });
                        prop_assert!(admitted);
                    }
                }
                Check::Never => prop_assert!(*cost > quota.burst()),
            }
            prop_assert!(taken <= u128::from(quota.capacity()) + forward);
        }
    }

    /// Taking a charge back never makes a bucket fuller than if the charge had not been made.
    #[test]
    fn a_refund_never_creates_quota(
        quota in quotas(),
        before in 0..3_u64,
        cost in 1..3_u64,
        others in prop::collection::vec((0..9_u64, 1..3_u64), 0..6),
        late in 0..4_u64,
    ) {
        let half = quota.interval() / 2;
        let before = FullAt(START + before * half);
        let Check::Now { charged } = check(before, START, quota, quota.capacity(), cost) else {
            return Ok(());
        };
        // What is, and what would be without the charge, under the same charges of others.
        let (mut with, mut without, mut now) = (charged, before, START);
        for (gap, cost) in others {
            now += gap * half;
            if let Check::Now { .. } = ask(&mut with, now, quota, cost) {
                let admits = matches!(ask(&mut without, now, quota, cost), Check::Now { .. });
                prop_assert!(admits);
            }
        }
        now += late * half;
        let refunded = refund(with, before, charged, now);
        prop_assert!(refunded.0.max(now) >= without.0.max(now), "created quota");
        prop_assert!(refunded <= with, "took more");
        if now == START {
            prop_assert_eq!(refunded.0.max(now), without.0.max(now), "at once, it takes all back");
        }
    }
}

#[test]
fn b5_the_wait_counts_the_cost() {
    // Three units left of five, one back every 2 s: five units are there after 4 s.
    let quota = Quota::new(Rate::new(30, Period::Minute).unwrap(), 5).unwrap();
    let mut state = FullAt::ALWAYS;
    assert!(matches!(
        ask(&mut state, START, quota, 2),
        Check::Now { .. }
    ));
    let Check::Later { wait, .. } = ask(&mut state, START, quota, 5) else {
        panic!("admitted");
    };
    assert_eq!(
        (wait, Level::of(state, START, quota).units),
        (4_000_000_000, 3)
    );
}

#[test]
fn b6_a_cost_above_the_burst_is_never_admitted() {
    let quota = Quota::new(Rate::new(1, Period::Second).unwrap(), 5).unwrap();
    assert_eq!(check(FullAt::ALWAYS, START, quota, 0, 6), Check::Never);
    assert_eq!(
        check(FullAt::ALWAYS, START, quota, 0, u64::MAX),
        Check::Never
    );
}

#[test]
fn b11_a_lowered_quota_applies_to_the_stored_time_at_once() {
    let old = Quota::new(Rate::new(1, Period::Second).unwrap(), 100).unwrap();
    let mut state = FullAt::ALWAYS;
    assert!(matches!(
        ask(&mut state, START, old, 100),
        Check::Now { .. }
    ));
    let new = Quota::new(Rate::new(1, Period::Second).unwrap(), 10).unwrap();
    let Check::Later {
        wait,
        repaired: Some(repaired),
        ..
    } = ask(&mut state, START, new, 1)
    else {
        panic!("admitted");
    };
    assert_eq!(wait, 1_000_000_000);
    let again = check(repaired, START + wait, new, new.capacity(), 1);
    assert!(matches!(again, Check::Now { .. }));
}

/// A worker that was held up after it read the clock must not take the charges of others for a clock that
/// stepped back, and lower them.
#[test]
fn b9_an_old_now_moves_nothing() {
    let quota = Quota::new(Rate::new(1, Period::Second).unwrap(), 1).unwrap();
    let mut state = FullAt::ALWAYS;
    assert!(matches!(
        ask(&mut state, START, quota, 1),
        Check::Now { .. }
    ));
    for late in [1, 1_000_000, SKEW] {
        let Check::Later { wait, repaired } = ask(&mut state, START - late, quota, 1) else {
            panic!("admitted");
        };
        assert_eq!((wait, repaired), (quota.interval() + late, None));
    }
    let again = |now| check(state, now, quota, quota.capacity(), 1);
    assert!(matches!(
        again(START + quota.interval() - 1),
        Check::Later { .. }
    ));
    assert!(matches!(again(START + quota.interval()), Check::Now { .. }));
}

#[test]
fn one_plan_cannot_empty_the_debt_of_another() {
    // An account holds tokens of two plans; its bucket is one. The small plan must not repair what the
    // large one rightly left.
    let large = Quota::new(Rate::new(1, Period::Second).unwrap(), 100).unwrap();
    let small = Quota::new(Rate::new(1, Period::Second).unwrap(), 10).unwrap();
    let ceiling = large.capacity();
    let Check::Now { charged } = check(FullAt::ALWAYS, START, large, ceiling, 100) else {
        panic!("refused");
    };
    let Check::Later { wait, repaired, .. } = check(charged, START, small, ceiling, 1) else {
        panic!("admitted");
    };
    assert_eq!((wait, repaired), (91_000_000_000, None));
}

#[test]
fn rates_are_rounded_to_the_strict_side() {
    let rate = Rate::new(7, Period::Second).unwrap();
    assert_eq!(rate.nanos_for(1), 142_857_143);
    assert!(Rate::new(0, Period::Second).is_err());
    assert!(Rate::new(1_000_001, Period::Second).is_err());
    assert_eq!(Rate::new(1, Period::Day).unwrap().minutes_worth(), 1);
    assert_eq!(Rate::new(5, Period::Second).unwrap().minutes_worth(), 300);
}
