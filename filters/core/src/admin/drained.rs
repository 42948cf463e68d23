//! The buckets of which least is left, found by looking through the tables.

use core::cmp::Ordering;

use super::limits::{bucket, entry, named};
use super::reply::Refusal;
use super::view::Limits;
use crate::gcra::FullAt;
use crate::key::Key;
use crate::ledger::Entry;
use crate::ledger::event::Moment;
use crate::policy::{Limit, LimitId, Policy};
use crate::store::{Slot, Store, StoreError};
use crate::table::{self, Place};

/// The most sets that one request looks through.
pub(super) const MOST_SETS: u32 = 4096;

struct Drained<'p> {
    limit: &'p Limit,
    key: Key,
    state: FullAt,
    missing: u64,
}

/// Looks through the tables from where `next` says, and says where to go on.
pub(super) fn drained<S: Store>(
    policy: &Policy,
    store: &mut S,
    entries: &[Entry],
    (only, next, top): (Option<LimitId>, Option<&str>, usize),
    at: Moment,
    limits: &mut Limits,
) -> Result<(), Refusal> {
    let (first, from) = match next {
        Some(text) => cursor(policy, text)?,
        None => (only.unwrap_or(LimitId(0)), 0),
    };
    if only.is_some_and(|only| only != first) {
        return Err(Refusal::bad(
            "`next` is of another limit; leave out one of the two",
        ));
    }
    let mut found: Vec<Drained<'_>> = Vec::new();
    let mut left = MOST_SETS;
    let all = policy.limits.iter().enumerate().skip(first.0);
    for (index, limit) in all.take(if only.is_some() { 1 } else { usize::MAX }) {
        let from = if index == first.0 { from } else { 0 };
        for set in from..table::sets(limit.max_keys) {
            if left == 0 {
                limits.next = Some(format!("{}:{set}", limit.name));
                break;
            }
            left = left.saturating_sub(1);
            let bytes = store.peek(Slot::Buckets(LimitId(index), set))?;
            let buckets = table::buckets(&bytes).map_err(|_| StoreError::Malformed)?;
            found.extend(buckets.filter(|(_, state)| !state.is_idle(at.now)).map(
                |(key, state)| Drained {
                    limit,
                    key,
                    state,
                    missing: state.0.saturating_sub(at.now),
                },
            ));
            if found.len() > top.saturating_mul(4) {
                sort(&mut found, top);
            }
        }
        if limits.next.is_some() {
            break;
        }
    }
    sort(&mut found, top);
    let shown = found.iter().map(
        |Drained {
             limit, key, state, ..
         }| {
            let peeked = table::Bucket {
                state: *state,
                place: Place::Own(0),
            };
            bucket(limit, *key, &peeked, entry(entries, limit, *key), at)
        },
    );
    limits.buckets = Some(shown.collect());
    limits.order = Some("drained");
    Ok(())
}

/// Keeps those of which least is left, for its size.
fn sort(found: &mut Vec<Drained<'_>>, top: usize) {
    found.sort_by(fuller);
    found.truncate(top);
}

fn fuller(one: &Drained<'_>, other: &Drained<'_>) -> Ordering {
    let missing = |own: &Drained<'_>, of: &Drained<'_>| {
        u128::from(own.missing).saturating_mul(u128::from(of.limit.quota.capacity()))
    };
    missing(other, one).cmp(&missing(one, other))
}

/// A limit and the number of a set.
fn cursor(policy: &Policy, text: &str) -> Result<(LimitId, u32), Refusal> {
    let bad = || Refusal::bad("`next` is not what an answer said; leave it out to begin anew");
    let (name, set) = text.split_once(':').ok_or_else(bad)?;
    Ok((named(policy, name)?, set.parse().map_err(|_| bad())?))
}
