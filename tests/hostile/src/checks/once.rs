//! No request runs twice under one record.
//!
//! Of a key (`unknown: hold`) a second execution is allowed only where the origin answered the one before with a status that releases it. Of an
//! event it is allowed unless the one before succeeded and somebody was given its answer; and, while that one runs and its caller waits, only
//! when its lease is over.

use std::collections::{BTreeMap, BTreeSet};

use super::Broken;
use crate::history::{End, Execution, Micros, Past, Record};
use crate::policy::LEASE_MS;

pub(super) const NAME: &str = "nothing runs twice";

/// By how much an execution may seem to come before the end of a lease: clocks are read at other moments than they are for.
const TOLERANCE: Micros = 20_000;

/// The statuses by which the origin says that it did not take a request.
const RELEASED: [u16; 2] = [429, 503];

pub(super) fn check(past: &Past) -> Vec<Broken> {
    let mut records: BTreeMap<&Record, Vec<&Execution>> = BTreeMap::new();
    for execution in &past.executions {
        // What did not come as a whole, and was not answered, did not run.
        if execution.whole.is_none() && execution.status.is_none() {
            continue;
        }
        if let Some(record) = past.of(execution).and_then(|told| told.record.as_ref()) {
            records.entry(record).or_default().push(execution);
        }
    }
    let given = given(past);
    let mut broken = Vec::new();
    for (record, mut executions) in records {
        executions.sort_by_key(|execution| execution.arrived);
        for pair in executions.windows(2) {
            let [one, other] = pair else { continue };
            let fault = match record {
                Record::Once(_) => once(one, other),
                Record::Event(_) => event(past, &given, one, other),
            };
            if let Some(fault) = fault {
                broken.push(Broken {
                    invariant: NAME,
                    what: format!("{record:?} {fault}"),
                    requests: vec![one.number, other.number],
                });
            }
        }
    }
    broken
}

fn released(one: &Execution) -> bool {
    one.status.is_some_and(|status| RELEASED.contains(&status))
}

fn once(one: &Execution, other: &Execution) -> Option<&'static str> {
    if !released(one) {
        return Some("ran again");
    }
    let ended = one.ended.is_some_and(|ended| ended <= other.arrived);
    (!ended).then_some("ran again before it was released")
}

fn event(
    past: &Past,
    given: &BTreeSet<u64>,
    one: &Execution,
    other: &Execution,
) -> Option<&'static str> {
    let succeeded = one
        .status
        .is_some_and(|status| (200..300).contains(&status));
    if succeeded && one.complete && given.contains(&one.number) {
        return Some("ran again after it had succeeded");
    }
    let ended = one.ended.is_some_and(|ended| ended <= other.arrived);
    // It ended otherwise, or nobody waited for its end; what came of it is not known, and the next delivery runs.
    if ended || given_up(past, one) {
        return None;
    }
    // It was claimed after it was sent, and its lease began then.
    let sent = past.of(one).map_or(one.arrived, |told| told.sent);
    let over = sent + LEASE_MS * 1_000;
    (other.arrived + TOLERANCE < over).then_some("ran again while it ran, within its lease")
}

/// The executions of which some caller was given the whole answer.
fn given(past: &Past) -> BTreeSet<u64> {
    let given = past.ends.values().filter_map(|end| match end {
        End::Answered(answer) if answer.whole => answer.made_for,
        _ => None,
    });
    given.collect()
}

/// Whether nobody waited for the end of an execution: its caller was gone, or Envoy's patience was at its end.
fn given_up(past: &Past, one: &Execution) -> bool {
    let answered = match past.ends.get(&one.number) {
        Some(End::Answered(answer)) => answer.whole && answer.made_for == Some(one.number),
        _ => false,
    };
    !answered
}

#[cfg(test)]
mod tests {
    use super::super::made::{SECOND, answer, executed, holds, is_broken};
    use super::*;

    fn key() -> Record {
        Record::Once("amy k".to_owned())
    }

    fn delivery() -> Record {
        Record::Event("amy evt".to_owned())
    }

    /// Two executions under one record, sent as they arrive; the first as `change` says.
    fn two(record: &Record, apart: Micros, change: impl FnOnce(&mut Execution)) -> Past {
        let mut one = executed(1, 100);
        change(&mut one);
        let past = Past::default()
            .with_record(1, 0, record)
            .with_record(2, apart, record);
        past.ran(one).ran(executed(2, apart))
    }

    #[test]
    fn a_key_runs_once() {
        let past = Past::default()
            .with_record(1, 0, &key())
            .ran(executed(1, 100));
        holds(&check(&past));
        is_broken(&check(&two(&key(), SECOND, |_| {})), "ran again");
        // Nor when nobody knows what came of it, nor after any time.
        let lost = two(&key(), 3_600 * SECOND, |one| {
            (one.status, one.complete, one.conduct) = (None, false, "resets");
        });
        is_broken(&check(&lost), "ran again");
    }

    #[test]
    fn a_key_that_was_released_may_run_again_and_not_before() {
        holds(&check(&two(&key(), SECOND, |one| one.status = Some(503))));
        let early = two(&key(), 500, |one| one.status = Some(503));
        is_broken(&check(&early), "before it was released");
    }

    #[test]
    fn what_did_not_come_as_a_whole_did_not_run() {
        let partly = two(&key(), SECOND, |one| {
            (one.whole, one.status, one.complete) = (None, None, false);
        });
        holds(&check(&partly));
    }

    #[test]
    fn other_records_are_others() {
        let other = Record::Once("amy l".to_owned());
        let past = Past::default()
            .with_record(1, 0, &key())
            .with_record(2, 0, &other);
        holds(&check(&past.ran(executed(1, 100)).ran(executed(2, 100))));
    }

    #[test]
    fn an_event_runs_again_when_it_failed() {
        let failed = |apart| {
            let past = two(&delivery(), apart, |one| one.status = Some(500));
            past.got(1, answer(1, 2_000))
        };
        holds(&check(&failed(SECOND)));
        is_broken(&check(&failed(500)), "ran again while it ran");
    }

    #[test]
    fn an_event_that_runs_runs_alone_for_as_long_as_its_lease() {
        let slow = |apart| {
            let past = two(&delivery(), apart, |one| {
                (one.status, one.ended) = (Some(500), Some(60 * SECOND));
            });
            past.got(1, answer(1, 61 * SECOND))
        };
        is_broken(&check(&slow(LEASE_MS * 1_000 / 2)), "within its lease");
        holds(&check(&slow(LEASE_MS * 1_000 + SECOND)));
    }

    #[test]
    fn an_event_whose_answer_nobody_got_is_not_known() {
        holds(&check(&two(&delivery(), 500, |_| {})));
        holds(&check(&two(&delivery(), SECOND, |one| {
            (one.status, one.complete) = (None, false);
        })));
    }

    #[test]
    fn an_event_that_somebody_knows_of_never_runs_again() {
        let told = two(&delivery(), 60 * SECOND, |_| {}).got(1, answer(1, SECOND));
        is_broken(&check(&told), "after it had succeeded");
        // By a duplicate too.
        let told = two(&delivery(), 60 * SECOND, |_| {}).got(3, answer(1, SECOND));
        is_broken(&check(&told), "after it had succeeded");
    }
}
