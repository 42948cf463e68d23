//! What is written can be read, and what is read was written: sets, answers, digests.

use proptest::prelude::*;
use tidegate_core::records::set::{self, RECORD_LEN, WAYS};
use tidegate_core::records::{Digest, Owner, Record, State, Stored};

fn digests() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest::from_bytes)
}

fn states() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Running),
        any::<u32>().prop_map(State::Done),
        Just(State::Unknown),
        Just(State::TooLarge),
    ]
}

fn records() -> impl Strategy<Value = Record> {
    let ends = any::<(u64, u64, bool)>();
    let parts = (
        digests(),
        any::<u8>(),
        states(),
        any::<[u8; 16]>(),
        prop::option::of(digests()),
        ends,
    );
    parts.prop_map(
        |(key, place, state, owner, fingerprint, (lease_ends, ends, shadow))| Record {
            key,
            place,
            state,
            owner: Owner(owner),
            fingerprint,
            lease_ends,
            ends,
            // Who is in shadow keeps no answer.
            shadow: shadow && !matches!(state, State::Done(_)),
        },
    )
}

/// Bytes that begin like a set or an answer more often than chance has it.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = || prop::collection::vec(any::<u8>(), 0..600);
    let whole = (0..5_usize).prop_flat_map(|n| prop::collection::vec(0..5_u8, n * RECORD_LEN));
    prop_oneof![
        any_bytes(),
        any_bytes().prop_map(|bytes| [vec![1], bytes].concat()),
        whole.prop_map(|bytes| [vec![1], bytes].concat()),
        // Few header lines, of few bytes, or none such.
        prop::collection::vec(0..2_u8, 0..600).prop_map(|bytes| [vec![1], bytes].concat()),
    ]
}

type Lines = Vec<(Vec<u8>, Vec<u8>)>;

fn lines() -> impl Strategy<Value = Lines> {
    let part = || prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec((part(), part()), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_set_is_read_as_it_was_written(records in prop::collection::vec(records(), 0..=usize::from(WAYS))) {
        let bytes = set::write(&records);
        prop_assert!(bytes.len() <= set::MAX_LEN);
        prop_assert_eq!(set::read(&bytes), Ok(records));
        // A part of a set is none, unless it ends between two records.
        for cut in 1..bytes.len() {
            prop_assert_eq!(set::read(&bytes[..cut]).is_ok(), (cut - 1) % RECORD_LEN == 0);
        }
    }

    #[test]
    fn a_set_of_any_bytes_is_one_or_none(bytes in bytes()) {
        if let Ok(records) = set::read(&bytes) {
            prop_assert!(records.len() * RECORD_LEN <= bytes.len());
            prop_assert_eq!(set::read(&set::write(&records)), Ok(records));
        }
    }

    #[test]
    fn a28_an_answer_is_read_as_it_was_written(
        owner in any::<[u8; 16]>(),
        status in any::<u16>(),
        lines in lines(),
        body in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let stored = Stored {
            owner: Owner(owner),
            status,
            headers: lines.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
            body: &body,
        };
        let bytes = stored.write().unwrap();
        prop_assert_eq!(Stored::read(&bytes), Some(stored));
        // A reservation of the place is never taken for an answer.
        prop_assert_eq!(Stored::read(&owner), None);
    }

    #[test]
    fn an_answer_of_any_bytes_is_no_larger_than_they_are(bytes in bytes()) {
        if let Some(stored) = Stored::read(&bytes) {
            // A line takes eight bytes at least, and a list that grew has twice the room at most, or four lines.
            prop_assert!(stored.headers.capacity() <= (bytes.len() / 8 * 2).max(4));
            prop_assert_eq!(stored.write(), Some(bytes));
        }
    }

    #[test]
    fn a42_digests_are_the_same_exactly_when_they_are_equal(one in digests(), at in 0..32_usize, bit in 0..8_u8) {
        let mut bytes = one.to_bytes();
        bytes[at] ^= 1 << bit;
        let other = Digest::from_bytes(bytes);
        prop_assert!(one.is(&one));
        prop_assert!(!one.is(&other) && !other.is(&one));
    }

    #[test]
    fn the_shape_of_a_store_is_within_its_bound(records in prop_oneof![0..100_u32, any::<u32>()]) {
        let (sets, ways) = set::shape(records);
        let all = u64::from(sets) * u64::from(ways);
        prop_assert!(sets >= 1 && (1..=WAYS).contains(&ways));
        prop_assert!(all <= u64::from(records.max(1)));
        prop_assert!(all + u64::from(WAYS) > u64::from(records));
    }

    #[test]
    fn time_that_runs_out_ends_nothing_early(record in records(), now in any::<u64>()) {
        let over = record.is_over(now);
        prop_assert_eq!(over, record.ends <= now);
        prop_assert!(!over || record.is_over(u64::MAX));
        let lost = record.state == State::Running && record.lease_ends <= now;
        prop_assert_eq!(record.state_at(now), if lost { State::Unknown } else { record.state });
    }
}

/// Bytes that a module wrote which knew nothing of shadow: a record of amy's that ran, and was too large.
#[test]
fn a_record_of_an_earlier_module_is_none_of_shadow() {
    for state in [1_u8, 3, 4] {
        let bytes = [
            &[1][..],
            &[7; 32],
            &[0, state],
            &[8; 16],
            &[0; 32],
            &9_u64.to_le_bytes(),
            &10_u64.to_le_bytes(),
            &0_u32.to_le_bytes(),
        ]
        .concat();
        let [record] = set::read(&bytes).unwrap()[..] else {
            panic!("{bytes:?}");
        };
        assert!(!record.shadow);
        assert_eq!(set::write(&[record]), bytes);
    }
}

#[test]
fn a_count_of_lines_that_lies_costs_nothing() {
    let mut bytes = vec![1; 19];
    bytes.extend_from_slice(&u32::MAX.to_le_bytes());
    bytes.extend_from_slice(&[0; 64]);
    assert_eq!(Stored::read(&bytes), None);
}
