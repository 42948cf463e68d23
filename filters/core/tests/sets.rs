//! The sets of a table beside a map that forgets nothing.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::HashMap;

use proptest::prelude::*;
use tidegate_core::gcra::{Check, FullAt, check};
use tidegate_core::key::{Key, Parts, Secret};
use tidegate_core::quota::{Period, Quota, Rate};
use tidegate_core::table::{MAX_SET_LEN, Malformed, Place, WAYS, busy, find, put};

const START: u64 = 1_000_000_000_000;

fn key(name: &str) -> Key {
    let mut parts = Parts::new();
    parts.push(0, name.as_bytes());
    Secret::new([7; 16]).key(&parts)
}

fn quota(burst: u64) -> Quota {
    Quota::new(Rate::new(1, Period::Second).unwrap(), burst).unwrap()
}

/// One unit from the bucket of `who` in a set; the place it was found in, and whether it was admitted.
fn take(set: &mut Vec<u8>, who: &str, quota: Quota, now: u64) -> (Place, bool) {
    let bucket = find(set, &key(who), now).unwrap();
    match check(bucket.state, now, quota, quota.capacity(), 1) {
        Check::Now { charged } => {
            put(set, &key(who), bucket.place, charged, now).unwrap();
            assert_eq!(find(set, &key(who), now).unwrap().state, charged);
            (bucket.place, true)
        }
        _ => (bucket.place, false),
    }
}

proptest! {
    /// Whatever comes and goes in a set, nobody is admitted more often than with a bucket for each.
    #[test]
    fn never_more_than_with_a_bucket_for_everyone(
        burst in 1..4_u64,
        steps in prop::collection::vec((0..40_usize, prop_oneof![9 => 0..200_000_000_u64, 1 => 0..5_000_000_000_u64]), 1..400),
    ) {
        let quota = quota(burst);
        let (mut set, mut now) = (Vec::new(), START);
        let mut model: HashMap<usize, FullAt> = HashMap::new();
        for (who, gap) in steps {
            now += gap;
            let (_, admitted) = take(&mut set, &who.to_string(), quota, now);
            if admitted {
                // The model must have room whenever the set had: charge it for what the set admitted.
                let state = model.entry(who).or_default();
                let Check::Now { charged } = check(*state, now, quota, quota.capacity(), 1) else {
                    return Err(TestCaseError::fail(format!("{who} got quota back")));
                };
                *state = charged;
            }
            prop_assert!(set.len() <= MAX_SET_LEN);
        }
    }

    /// With room in the set, it decides exactly as a bucket for each.
    #[test]
    fn exact_while_there_is_room(steps in prop::collection::vec((0..WAYS, 0..2_000_000_000_u64), 1..300)) {
        let quota = quota(2);
        let (mut set, mut now) = (Vec::new(), START);
        let mut model: HashMap<usize, FullAt> = HashMap::new();
        for (who, gap) in steps {
            now += gap;
            let (_, admitted) = take(&mut set, &who.to_string(), quota, now);
            let state = model.entry(who).or_default();
            let said = check(*state, now, quota, quota.capacity(), 1);
            if let Check::Now { charged } = said {
                *state = charged;
            }
            prop_assert_eq!(admitted, matches!(said, Check::Now { .. }));
        }
    }

    #[test]
    fn any_bytes_are_a_set_or_malformed(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut set = bytes;
        match find(&set, &key("a"), START) {
            Ok(bucket) => {
                put(&mut set, &key("a"), bucket.place, FullAt(START + 1), START).unwrap();
                prop_assert!(set.len() <= MAX_SET_LEN);
                prop_assert_eq!(find(&set, &key("a"), START).unwrap().state, FullAt(START + 1));
            }
            Err(Malformed) => {
                let before = set.clone();
                prop_assert_eq!(put(&mut set, &key("a"), Place::New, FullAt(1), START), Err(Malformed));
                prop_assert_eq!(set, before);
            }
        }
    }
}

#[test]
fn a_drained_account_is_still_drained_after_many_newcomers() {
    let quota = quota(3);
    let mut set = Vec::new();
    for _ in 0..3 {
        assert!(take(&mut set, "drained", quota, START).1);
    }
    for newcomer in 0..1_000 {
        take(&mut set, &format!("new-{newcomer}"), quota, START);
    }
    assert_eq!(
        take(&mut set, "drained", quota, START),
        (Place::Own(0), false)
    );
}

#[test]
fn newcomers_to_a_full_set_share_one_bucket() {
    let quota = quota(3);
    let mut set = Vec::new();
    for resident in 0..WAYS {
        assert_eq!(
            take(&mut set, &resident.to_string(), quota, START),
            (Place::New, true)
        );
    }
    let shared: Vec<_> = (0..4)
        .map(|n| take(&mut set, &format!("new-{n}"), quota, START))
        .collect();
    let (overflow, refused) = ((Place::Overflow, true), (Place::Overflow, false));
    assert_eq!(shared, [overflow, overflow, overflow, refused]);
    // When a resident's bucket is full again a newcomer moves in, with what the shared bucket owes.
    let later = START + 1_000_000_000;
    assert_eq!(take(&mut set, "new-0", quota, later), (Place::New, true));
    assert_eq!(
        take(&mut set, "new-0", quota, later),
        (Place::Own(0), false)
    );
}

#[test]
fn what_is_not_a_set_is_malformed() {
    let mut set = Vec::new();
    put(&mut set, &key("a"), Place::New, FullAt(START + 1), START).unwrap();
    assert_eq!(busy(&set, START), Ok(1));
    assert_eq!(busy(&set, START + 1), Ok(0));
    assert_eq!(busy(&set[..set.len() - 1], START), Err(Malformed));
    let mut other = set.clone();
    other[0] = 2;
    assert_eq!(busy(&other, START), Err(Malformed));
    let mut long = set;
    long.extend_from_slice(&[1; 24 * WAYS]);
    assert_eq!(busy(&long, START), Err(Malformed));
}

proptest! {
    /// A14: parts are told apart by their lengths, not by what stands in them.
    #[test]
    fn different_parts_never_make_one_key(
        one in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)), 0..5),
        other in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)), 0..5),
    ) {
        let encode = |list: &[(u8, Vec<u8>)]| {
            let mut parts = Parts::new();
            for (tag, value) in list {
                parts.push(*tag, value);
            }
            parts
        };
        prop_assert_eq!(one == other, encode(&one) == encode(&other));
        let secret = Secret::new([3; 16]);
        prop_assert_eq!(one == other, secret.key(&encode(&one)) == secret.key(&encode(&other)));
    }

    #[test]
    fn every_key_has_a_place(bytes in any::<[u8; 16]>(), places in 1..100_000_u32) {
        let mut parts = Parts::new();
        parts.push(0, &bytes);
        prop_assert!(Secret::new([9; 16]).key(&parts).place(places) < places);
    }
}

#[test]
fn the_same_text_split_otherwise_is_another_key() {
    let key = |list: [&str; 2]| {
        let mut parts = Parts::new();
        for value in list {
            parts.push(1, value.as_bytes());
        }
        Secret::new([1; 16]).key(&parts)
    };
    assert_ne!(key(["a", "bc"]), key(["ab", "c"]));
    assert_ne!(key(["", "abc"]), key(["abc", ""]));
    assert_ne!(key(["acme", "bob"]), key(["acme_bob", ""]));
    // A value that looks like the end of one part and the beginning of the next.
    let encode = |list: &[&[u8]]| {
        let mut parts = Parts::new();
        for value in list {
            parts.push(1, value);
        }
        parts
    };
    assert_ne!(encode(&[b"a\x01b"]), encode(&[b"a", b"b"]));
    assert_ne!(encode(&[b"", b""]), encode(&[b"\x01"]));
}
