//! When somebody outside is told.

use serde_json::{Value, json};
use tidegate_core::ledger::drive::Attempt;
use tidegate_core::ledger::{Kind, Outcome, Phase, drive};
use tidegate_core::policy::Notify;
use tidegate_core::store::MemoryStore;

use crate::{NOW, S, Worker, known};

/// Told after a minute, over after half of one, once an hour at most.
fn notify(document: &mut Value) {
    document["notify"] = json!({
        "cluster": "alerts", "path": "/hook", "key_env": "NOTIFY_KEY",
        "after": "1min", "quiet": "30s", "interval": "1h", "backoff": "10s", "timeout": "3s",
    });
}

struct Stand {
    store: MemoryStore,
    worker: Worker,
    rule: Notify,
}

impl Stand {
    fn new() -> Self {
        let worker = Worker::new(notify);
        let rule = worker.policy.notify.clone().unwrap();
        Self {
            store: MemoryStore::new(),
            worker,
            rule,
        }
    }

    /// The account is refused in each of these seconds; what is to be sent meanwhile is left to `sent`.
    fn refused(
        &mut self,
        seconds: impl Iterator<Item = u64>,
        mut sent: impl FnMut(&mut Self, Attempt, u64),
    ) {
        for second in seconds {
            let now = NOW + second * S;
            self.worker.get(&mut self.store, "amy", now);
            self.worker.tell(&mut self.store, now);
            self.look(second, &mut sent);
        }
    }

    fn look(&mut self, second: u64, sent: &mut impl FnMut(&mut Self, Attempt, u64)) -> u64 {
        let now = NOW + second * S;
        let looked = drive::look(&mut self.store, &self.worker.policy, now).unwrap();
        let looked = looked.unwrap();
        for attempt in looked.attempts {
            sent(self, attempt, second);
        }
        looked.given_up
    }

    fn settle(&mut self, attempt: &Attempt, delivered: bool, second: u64) -> Outcome {
        let now = NOW + second * S;
        drive::settle(&mut self.store, &self.rule, attempt, delivered, now, 0).unwrap()
    }
}

#[test]
fn one_event_when_it_lasts_and_one_when_it_is_over() {
    let mut stand = Stand::new();
    let mut events = Vec::new();
    let mut sent = |stand: &mut Stand, attempt: Attempt, second| {
        assert_eq!(stand.settle(&attempt, true, second), Outcome::Delivered);
        events.push((attempt.kind, second, attempt.entry.count_since()));
    };
    stand.refused(0..=200, &mut sent);
    for second in 201..=400 {
        stand.look(second, &mut sent);
    }
    // The first request of all was let through.
    assert_eq!(events, [(Kind::Started, 61, 61), (Kind::Over, 231, 200)]);
}

#[test]
fn nobody_is_told_of_what_is_short_nor_twice_within_the_interval() {
    let mut stand = Stand::new();
    let mut events = Vec::new();
    let mut sent = |stand: &mut Stand, attempt: Attempt, second| {
        stand.settle(&attempt, true, second);
        events.push((attempt.kind, second));
    };
    // With pauses that are longer than `quiet`.
    for begin in (0..=3000).step_by(100) {
        stand.refused(begin..begin + 40, &mut sent);
    }
    for begin in (4000..=8200).step_by(200) {
        stand.refused(begin..begin + 100, &mut sent);
        for second in begin + 100..begin + 200 {
            stand.look(second, &mut sent);
        }
    }
    assert_eq!(
        events,
        [
            (Kind::Started, 4060),
            (Kind::Over, 4130),
            (Kind::Started, 7660),
            (Kind::Over, 7730),
        ]
    );
}

#[test]
fn a_receiver_that_fails_is_asked_six_times_further_and_further_apart() {
    let mut stand = Stand::new();
    let mut attempts = Vec::new();
    stand.refused(0..=1000, |stand, attempt, second| {
        let outcome = stand.settle(&attempt, false, second);
        attempts.push((second, outcome));
    });
    let seconds: Vec<_> = attempts.iter().map(|(second, _)| *second).collect();
    // Half of 10, 30, 90, 270 and 810 s, as the jitter is 0.
    assert_eq!(seconds, [61, 66, 81, 126, 261, 666]);
    let (last, before) = attempts.split_last().unwrap();
    assert!(before.iter().all(|(_, outcome)| *outcome == Outcome::Again));
    assert_eq!(last.1, Outcome::GivenUp);
    // Who was not told that it began is not told that it is over.
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::GivenUp);
    for second in 1001..1100 {
        stand.look(second, &mut |_, attempt, _| panic!("{attempt:?}"));
    }
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::Quiet);
}

#[test]
fn an_attempt_is_one_worker_s_and_a_worker_that_dies_has_failed() {
    let mut stand = Stand::new();
    let mut lost = Vec::new();
    let mut given_up = 0;
    // Nobody ever says what became of an attempt.
    for second in 0..=200 {
        stand.worker.get(&mut stand.store, "amy", NOW + second * S);
        stand.worker.tell(&mut stand.store, NOW + second * S);
        given_up += stand.look(second, &mut |_, attempt, second| {
            lost.push((second, attempt));
        });
    }
    let seconds: Vec<_> = lost.iter().map(|(second, _)| *second).collect();
    // The timeout and two seconds.
    assert_eq!(seconds, [61, 66, 71, 76, 81, 86]);
    assert_eq!(given_up, 1);
    // One who says so when others have taken over changes nothing.
    assert_eq!(stand.settle(&lost[0].1, true, 200), Outcome::Overtaken);
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::GivenUp);
}

#[test]
fn what_goes_on_after_all_is_not_over() {
    let mut stand = Stand::new();
    let mut events = Vec::new();
    let mut sent = |stand: &mut Stand, attempt: Attempt, second| {
        // That it is over cannot be said for a while.
        let delivered = attempt.kind == Kind::Started || second > 150;
        stand.settle(&attempt, delivered, second);
        events.push((attempt.kind, delivered));
    };
    stand.refused(0..=70, &mut sent);
    for second in 71..=110 {
        stand.look(second, &mut sent);
    }
    stand.refused(111..=120, &mut sent);
    for second in 121..=300 {
        stand.look(second, &mut sent);
    }
    let last = events.pop();
    assert_eq!(last, Some((Kind::Over, true)));
    assert_eq!(events.iter().filter(|e| e.1).count(), 1);
}

#[test]
fn nobody_is_told_that_it_is_over_while_it_goes_on() {
    let mut stand = Stand::new();
    let mut events = Vec::new();
    let mut sent = |stand: &mut Stand, attempt: Attempt, second| {
        // The receiver is away when it seems over.
        let delivered = !(100..150).contains(&second);
        stand.settle(&attempt, delivered, second);
        events.push((attempt.kind, delivered, second));
    };
    stand.refused(0..=70, &mut sent);
    for second in 71..=110 {
        stand.look(second, &mut sent);
    }
    stand.refused(111..=2_000, &mut sent);
    for second in 2_001..=2_100 {
        stand.look(second, &mut sent);
    }
    let delivered: Vec<_> = events.iter().filter(|event| event.1).collect();
    assert!(
        matches!(
            delivered[..],
            [(Kind::Started, ..), (Kind::Over, _, 2_031..=2_100)]
        ),
        "{events:?}"
    );
}

#[test]
fn a_policy_that_tells_nobody_frees_the_places_of_those_who_were_told_of() {
    let mut stand = Stand::new();
    let mut sent = |stand: &mut Stand, attempt: Attempt, second| {
        stand.settle(&attempt, true, second);
    };
    stand.refused(0..=70, &mut sent);
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::Told);
    stand.worker = Worker::new(|_| {});
    stand.refused(71..=72, &mut sent);
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::Told);
    stand.look(72 + 3_600, &mut sent);
    assert_eq!(known(&mut stand.store)[0].notice.phase, Phase::Quiet);
}

#[test]
fn shadow_and_rules_that_are_no_limits_tell_nobody() {
    let mut stand = Stand::new();
    for second in 0..=300 {
        let now = NOW + second * S;
        let Stand { store, worker, .. } = &mut stand;
        worker.request(store, "GET", "/tried", "amy", now);
        worker.request(store, "POST", "/charges", "ben", now);
        worker.tell(store, now);
        stand.look(second, &mut |_, attempt, _| panic!("{attempt:?}"));
    }
    assert_eq!(known(&mut stand.store).len(), 2);
}
