//! From the first attempt to the last: what runs, what waits, what is replayed.

use serde_json::json;
use tidegate_core::answer::retry_after;
use tidegate_core::denial::Denial;
use tidegate_core::idempotency::Outcome;
use tidegate_core::idempotency::replay::REPLAYED;

use crate::world::{Ask, BURST, HOUR, SECOND, World, policy, told};

#[test]
fn a8_a9_a_duplicate_in_flight_is_told_to_come_back() {
    let mut world = World::of(json!({"key": "required"}));
    world.send(&Ask::post("k", "{}")).ran();
    for _ in 0..3 {
        let denial = world.send(&Ask::post("k", "{}")).refused();
        assert_eq!(denial, Denial::RequestInProgress);
        assert_eq!(told(&world.policy, &denial).status, 409);
        assert_eq!(retry_after(&denial), Some(1));
    }
    assert_eq!(world.left(), BURST - 1);
}

#[test]
fn a11_a23_an_answer_is_replayed_whatever_it_says() {
    let mut world = World::of(json!({"key": "required"}));
    for status in [200, 201, 302, 400, 402, 404, 409, 500, 502, 504] {
        let key = format!("k-{status}");
        world.now += HOUR;
        world.run(&Ask::post(&key, "{}"), status, b"as it was");
        let replay = world.send(&Ask::post(&key, "{}")).replayed();
        assert_eq!(
            (replay.status, replay.body),
            (status, b"as it was".to_vec())
        );
    }
}

#[test]
fn a27_a28_a29_a32_a_replay_is_what_it_was() {
    let mut world = World::of(json!({"key": "required"}));
    let running = world.send(&Ask::post("k", "{}")).ran();
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("location", "/charges/7"),
        ("etag", "W/\"1,2\""),
        ("link", "</a>; rel=next, </b>; rel=prev"),
        ("x-many", "one, two"),
        ("x-many", "three"),
        ("content-language", "en"),
        ("x-many", ""),
    ];
    let body: Vec<u8> = (0..=255).collect();
    world.answer(&running, 201, &headers, &body);
    for _ in 0..2 {
        let replay = world.send(&Ask::post("k", "{}")).replayed();
        let mut lines: Vec<_> = headers
            .iter()
            .map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec()))
            .collect();
        lines.push((REPLAYED.as_bytes().to_vec(), b"true".to_vec()));
        assert_eq!(replay.status, 201);
        assert_eq!(replay.headers, lines);
        assert_eq!(replay.body, body);
    }
}

#[test]
fn a_replay_is_charged_to_nobody() {
    let mut world = World::of(json!({"key": "required"}));
    world.run(&Ask::post("k", "{}"), 200, b"first");
    for _ in 0..BURST * 2 {
        world.send(&Ask::post("k", "{}")).replayed();
    }
    assert_eq!(world.left(), BURST - 1);
    // Nor refused by a limit that has no room left.
    for index in 1..BURST {
        world.send(&Ask::post(&format!("k-{index}"), "{}")).ran();
    }
    assert_eq!(world.left(), 0);
    world.send(&Ask::post("k", "{}")).replayed();
}

#[test]
fn a21_a22_a_refusal_by_a_limit_leaves_no_record() {
    for fingerprint in ["body", "key-only"] {
        let rule = json!({"key": "required", "fingerprint": fingerprint});
        let mut world = World::new(policy(rule, |document| {
            document["limits"]["account"]["burst"] = json!(1);
        }));
        world.run(&Ask::post("k", "{}"), 200, b"first");
        let denial = world.send(&Ask::post("l", "{}")).refused();
        assert!(matches!(denial, Denial::QuotaExceeded { .. }));
        world.now += HOUR;
        world.run(&Ask::post("l", "{}"), 200, b"second");
    }
}

#[test]
fn a21_what_never_reached_the_origin_runs_again() {
    let mut world = World::of(json!({"key": "required"}));
    let running = world.send(&Ask::post("k", "{}")).ran();
    world.end(&running, Outcome::NotSent);
    // Its fingerprint is gone too.
    world.run(&Ask::post("k", "{\"a\": 1}"), 200, b"second");
}

#[test]
fn a17_what_was_sent_and_not_answered_is_held_until_the_record_ends() {
    let mut world = World::of(json!({"key": "required"}));
    let running = world.send(&Ask::post("k", "{}")).ran();
    world.end(&running, Outcome::Lost);
    for wait in [0, 60 * SECOND, 23 * HOUR - 60 * SECOND] {
        world.now += wait;
        let denial = world.send(&Ask::post("k", "{}")).refused();
        assert_eq!(denial, Denial::OutcomeUnknown);
        assert_eq!(told(&world.policy, &denial).status, 409);
        assert_eq!(retry_after(&denial), None);
    }
    assert_eq!(world.left(), BURST);
    world.now += HOUR;
    world.run(&Ask::post("k", "{}"), 200, b"second");
}

#[test]
fn a17_a_lease_ends_in_an_unknown_outcome_and_never_in_progress() {
    let mut world = World::of(json!({"key": "required", "lease": "30s"}));
    world.send(&Ask::post("k", "{}")).ran();
    world.now += 30 * SECOND - 1;
    let denial = world.send(&Ask::post("k", "{}")).refused();
    assert_eq!(denial, Denial::RequestInProgress);
    world.now += 1;
    let denial = world.send(&Ask::post("k", "{}")).refused();
    assert_eq!(denial, Denial::OutcomeUnknown);
}

#[test]
fn a17_a18_a19_with_retry_the_next_attempt_runs_and_the_first_one_comes_too_late() {
    let rule = json!({"key": "required", "lease": "30s", "unknown": "retry"});
    let mut world = World::of(rule);
    let first = world.send(&Ask::post("k", "{}")).ran();
    let denial = world.send(&Ask::post("k", "{}")).refused();
    assert_eq!(denial, Denial::RequestInProgress);
    world.now += 30 * SECOND;
    let second = world.send(&Ask::post("k", "{}")).ran();
    assert_ne!(first.place.owner, second.place.owner);
    assert!(!world.answer(&first, 200, &[], b"late"));
    let denial = world.send(&Ask::post("k", "{}")).refused();
    assert_eq!(denial, Denial::RequestInProgress);
    assert!(world.answer(&second, 200, &[], b"second"));
    assert!(!world.answer(&first, 200, &[], b"later"));
    assert_eq!(world.send(&Ask::post("k", "{}")).replayed().body, b"second");
}

#[test]
fn a10_a17_with_retry_another_body_is_refused_and_the_outcome_stays_unknown() {
    let rule = json!({"key": "required", "lease": "30s", "unknown": "retry"});
    let mut world = World::of(rule);
    world.send(&Ask::post("k", "{}")).ran();
    world.now += 30 * SECOND;
    let before = world.left();
    for _ in 0..2 {
        let denial = world.send(&Ask::post("k", "other")).refused();
        assert_eq!(denial, Denial::IdempotencyKeyReused);
    }
    assert_eq!(world.left(), before);
    world.run(&Ask::post("k", "{}"), 200, b"second");
}

#[test]
fn a39_a_key_runs_again_when_its_record_has_ended() {
    let mut world = World::of(json!({"key": "required", "ttl": "2h"}));
    world.run(&Ask::post("k", "{}"), 200, b"first");
    world.now += 2 * HOUR - 1;
    world.send(&Ask::post("k", "{}")).replayed();
    world.now += 1;
    // As another request, too.
    world.run(&Ask::post("k", "other"), 200, b"second");
    assert_eq!(
        world.send(&Ask::post("k", "other")).replayed().body,
        b"second"
    );
}

#[test]
fn statuses_by_which_the_origin_did_not_take_the_request_release_it() {
    let mut world = World::of(json!({"key": "required"}));
    for status in [429, 503, 429] {
        world.run(&Ask::post("k", "{}"), status, b"later");
    }
    world.run(&Ask::post("k", "{}"), 200, b"done");
    world.send(&Ask::post("k", "{}")).replayed();

    let mut own = World::of(json!({"key": "required", "release_statuses": [504]}));
    own.run(&Ask::post("k", "{}"), 504, b"");
    own.run(&Ask::post("k", "{}"), 503, b"");
    assert_eq!(own.send(&Ask::post("k", "{}")).replayed().status, 503);
}

#[test]
fn a30_a_coding_that_is_not_taken_is_not_sent() {
    let mut world = World::of(json!({"key": "required"}));
    let ask = Ask::post("k", "{}").with("accept-encoding", "gzip");
    let running = world.send(&ask).ran();
    world.answer(&running, 200, &[("content-encoding", "gzip")], b"\x1f\x8b");
    for taken in ["gzip", "br, GZIP;q=0.5", "*", "br, *;q=0.1", "gzip;q=0.01"] {
        let replay = world.send(&ask.clone().set("accept-encoding", Some(taken)));
        let replay = replay.replayed();
        let coding = (b"content-encoding".to_vec(), b"gzip".to_vec());
        assert!(replay.headers.contains(&coding), "{taken}");
        assert_eq!(replay.body, b"\x1f\x8b");
    }
    for not in ["br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "identity", ""] {
        let got = world.send(&ask.clone().set("accept-encoding", Some(not)));
        let denial = got.refused();
        assert_eq!(denial, Denial::ResponseNotStored, "{not}");
        assert_eq!(told(&world.policy, &denial).status, 409);
    }
    // Who says nothing takes what the origin sent to who said nothing.
    let silent = ask.clone().set("accept-encoding", None);
    assert_eq!(world.send(&silent).replayed().body, b"\x1f\x8b");
    // Without a coding everybody can read it.
    let running = world.send(&Ask::post("l", "{}")).ran();
    world.answer(&running, 200, &[], b"plain");
    let ask = Ask::post("l", "{}").with("accept-encoding", "br");
    assert_eq!(world.send(&ask).replayed().body, b"plain");
}

#[test]
fn a33_an_answer_that_is_too_large_is_not_sent_again_and_does_not_run_again() {
    let mut world = World::of(json!({"key": "required", "max_body": "16B"}));
    world.run(&Ask::post("k", "{}"), 200, b"0123456789abcdef");
    world.send(&Ask::post("k", "{}")).replayed();
    world.run(&Ask::post("l", "{}"), 200, b"0123456789abcdefg");
    for _ in 0..2 {
        let denial = world.send(&Ask::post("l", "{}")).refused();
        assert_eq!(denial, Denial::ResponseNotStored);
        assert_eq!(told(&world.policy, &denial).status, 409);
    }
    let denial = world.send(&Ask::post("l", "other")).refused();
    assert_eq!(denial, Denial::IdempotencyKeyReused);
}

#[test]
fn in_shadow_nothing_waits_and_nothing_is_replayed() {
    let mut world = World::new(policy(json!({"key": "required"}), |document| {
        document["mode"] = json!("shadow");
    }));
    let running = world.head(&Ask::post("k", "{}")).got().ran();
    assert!(!running.keeps);
    let denial = world.head(&Ask::post("k", "{}")).got().refused();
    assert_eq!(denial, Denial::RequestInProgress);
}

#[test]
fn in_shadow_too_an_unknown_outcome_may_be_tried_again() {
    let rule = json!({"key": "required", "lease": "30s", "unknown": "retry"});
    let mut world = World::new(policy(rule, |document| {
        document["mode"] = json!("shadow");
    }));
    world.head(&Ask::post("k", "{}")).got().ran();
    world.now += 30 * SECOND;
    world.head(&Ask::post("k", "{}")).got().ran();
}
