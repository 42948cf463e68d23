//! What makes two requests with one key the same.

use serde_json::json;
use tidegate_core::denial::Denial;

use crate::world::{Ask, BURST, Half, World, policy, told};

const BODY: &str = r#"{"amount": 340, "currency": "usd"}"#;
const OTHER: &str = r#"{"amount": 350, "currency": "usd"}"#;

#[test]
fn a10_another_body_is_refused_and_learns_nothing() {
    let mut world = World::of(json!({"key": "required"}));
    let running = world.send(&Ask::post("k", BODY)).ran();
    let in_flight = world.send(&Ask::post("k", OTHER)).refused();
    assert_eq!(in_flight, Denial::IdempotencyKeyReused);
    world.answer(&running, 200, &[], b"charged 340");
    let completed = world.send(&Ask::post("k", OTHER)).refused();
    assert_eq!(completed, Denial::IdempotencyKeyReused);
    let answer = told(&world.policy, &completed);
    let body = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 422);
    assert!(!body.contains("340"), "{body}");
    assert_eq!(
        world.send(&Ask::post("k", BODY)).replayed().body,
        b"charged 340"
    );
    assert_eq!(world.left(), BURST - 1);
}

#[test]
fn a8_a10_while_the_first_body_is_on_its_way() {
    let mut world = World::of(json!({"key": "required"}));
    let (first, other) = (Ask::post("k", BODY), Ask::post("k", OTHER));
    let pending = world.head(&first).reading();
    // What it is will be known later; that it runs is known now.
    assert_eq!(world.send(&other).refused(), Denial::RequestInProgress);
    let running = world.rest(pending, &first).ran();
    assert_eq!(world.send(&other).refused(), Denial::IdempotencyKeyReused);
    assert_eq!(world.send(&first).refused(), Denial::RequestInProgress);
    world.answer(&running, 200, &[], b"first");
    world.send(&first).replayed();
}

#[test]
fn a10_a_second_body_that_is_read_while_the_first_one_runs_is_compared_when_it_has_come() {
    let mut world = World::of(json!({"key": "required"}));
    let (first, other) = (Ask::post("k", BODY), Ask::post("k", OTHER));
    let running = world.send(&first).ran();
    let same = world.head(&first).reading();
    let differs = world.head(&other).reading();
    world.answer(&running, 200, &[], b"first");
    assert_eq!(world.rest(same, &first).replayed().body, b"first");
    let denial = world.rest(differs, &other).refused();
    assert_eq!(denial, Denial::IdempotencyKeyReused);
}

#[test]
fn a_client_that_goes_before_its_body_has_come_leaves_no_record() {
    let mut world = World::of(json!({"key": "required"}));
    let pending = world.head(&Ask::post("k", BODY)).reading();
    world.give_up(&pending);
    world.run(&Ask::post("k", OTHER), 200, b"second");
}

#[test]
fn a_body_that_takes_longer_than_its_lease_does_not_run() {
    let mut world = World::of(json!({"key": "required", "lease": "10s", "unknown": "retry"}));
    let first = Ask::post("k", BODY);
    let slow = world.head(&first).reading();
    world.now += 10 * crate::world::SECOND;
    let running = world.send(&first).ran();
    assert_eq!(
        world.rest(slow, &first).refused(),
        Denial::RequestInProgress
    );
    assert!(world.answer(&running, 200, &[], b"second"));
}

#[test]
fn a_request_without_a_body_is_not_waited_for() {
    let mut world = World::of(json!({"key": "required"}));
    let ask = Ask::bare("/charges/new").with("idempotency-key", "k");
    let running = world.head(&ask).got().ran();
    world.answer(&running, 204, &[], b"");
    assert_eq!(world.head(&ask).got().replayed().status, 204);
    // No body and one of nothing are the same.
    assert_eq!(world.send(&ask.clone().body("")).replayed().status, 204);
    let denial = world.send(&ask.body("{}")).refused();
    assert_eq!(denial, Denial::IdempotencyKeyReused);
}

#[test]
fn a35_a_body_is_the_same_in_any_number_of_parts() {
    let mut world = World::of(json!({"key": "required"}));
    world.run(&Ask::post("k", BODY), 200, b"first");
    let body = BODY.as_bytes();
    for size in 1..body.len() {
        let ask = Ask::post("k", "").parts(body.chunks(size));
        world.send(&ask).replayed();
    }
    let gaps = Ask::post("k", "").parts([&b""[..], body, b"", b""]);
    world.send(&gaps).replayed();
    // A part less is another body.
    let cut = Ask::post("k", "").parts([&body[1..]]);
    assert_eq!(world.send(&cut).refused(), Denial::IdempotencyKeyReused);
}

#[test]
fn a34_a_body_that_is_too_large_is_refused_whole() {
    let mut world = World::of(json!({"key": "required", "max_body": "16B"}));
    let (just, over) = ("0123456789abcdef", "0123456789abcdefg");
    let announced = Ask::post("k", over).with("content-length", "17");
    assert_eq!(world.head(&announced).got().refused(), Denial::BodyTooLarge);
    assert_eq!(world.left(), BURST);
    let streamed = Ask::post("k", "").parts(over.as_bytes().chunks(3));
    let denial = world.send(&streamed).refused();
    assert_eq!(denial, Denial::BodyTooLarge);
    assert_eq!(told(&world.policy, &denial).status, 413);
    // Nothing is left of it: the key is as good as new.
    world.run(&Ask::post("k", just), 200, b"first");
    assert_eq!(world.send(&streamed).refused(), Denial::BodyTooLarge);
    world.send(&Ask::post("k", just)).replayed();
}

#[test]
fn a34_with_the_key_alone_no_body_is_too_large() {
    let mut world =
        World::of(json!({"key": "required", "max_body": "4B", "fingerprint": "key-only"}));
    let ask = Ask::post("k", "far more than four").with("content-length", "18");
    world.head(&ask).got().ran();
}

#[test]
fn a36_query_type_and_coding_count_and_what_changes_does_not() {
    let mut world = World::of(json!({"key": "required"}));
    let first = Ask::post("k", BODY).with("content-type", "application/json");
    world.run(&first, 200, b"first");
    let same = first
        .clone()
        .with("traceparent", "00-1-2-01")
        .with("user-agent", "another")
        .with("x-request-id", "7")
        .with("date", "now");
    world.send(&same).replayed();
    for other in [
        first.clone().path("/charges/new?dry-run=1"),
        first.clone().set("content-type", Some("text/plain")),
        first.clone().set("content-type", None),
        first.clone().with("content-encoding", "gzip"),
    ] {
        let denial = world.send(&other).refused();
        assert_eq!(denial, Denial::IdempotencyKeyReused);
    }
}

#[test]
fn a37_with_the_key_alone_a_multipart_boundary_may_change() {
    let mut world = World::of(json!({"key": "required", "fingerprint": "key-only"}));
    let ask = |boundary: &str| {
        Ask::post("k", boundary).with(
            "content-type",
            &format!("multipart/form-data; boundary={boundary}"),
        )
    };
    let running = world.head(&ask("a")).got().ran();
    assert_eq!(
        world.head(&ask("b")).got().refused(),
        Denial::RequestInProgress
    );
    world.answer(&running, 200, &[], b"first");
    assert_eq!(world.head(&ask("b")).got().replayed().body, b"first");
}

#[test]
fn parts_of_a_json_body_count_however_the_rest_is_spelt() {
    let rule = json!({"key": "required", "fingerprint": {"json": ["/amount", "/to"]}});
    let mut world = World::of(rule);
    world.run(
        &Ask::post(
            "k",
            r#"{"amount": 340, "to": {"a": 1, "b": 2}, "sent": "1"}"#,
        ),
        200,
        b"first",
    );
    world
        .send(&Ask::post(
            "k",
            r#"{ "to":{"b":2,"a":1},"amount":340, "sent": "2" }"#,
        ))
        .replayed();
    for other in [
        r#"{"amount": 350, "to": {"a": 1, "b": 2}}"#,
        r#"{"amount": "340", "to": {"a": 1, "b": 2}}"#,
        r#"{"amount": 340, "to": {"a": 1}}"#,
        r#"{"amount": 340}"#,
        r#"{"to": 340, "amount": {"a": 1, "b": 2}}"#,
        "amount=340",
        "",
    ] {
        let denial = world.send(&Ask::post("k", other)).refused();
        assert_eq!(denial, Denial::IdempotencyKeyReused, "{other}");
    }
}

#[test]
fn a_part_that_is_absent_is_not_one_that_is_empty() {
    let rule = json!({"key": "required", "fingerprint": {"json": ["/note"]}});
    let bodies = ["{}", r#"{"note": ""}"#, r#"{"note": null}"#, "not json"];
    for (index, body) in bodies.iter().enumerate() {
        let mut world = World::of(rule.clone());
        world.run(&Ask::post("k", body), 200, b"first");
        for (other_index, other) in bodies.iter().enumerate() {
            let got = world.send(&Ask::post("k", other));
            if index == other_index {
                got.replayed();
            } else {
                assert_eq!(
                    got.refused(),
                    Denial::IdempotencyKeyReused,
                    "{body} {other}"
                );
            }
        }
    }
}

#[test]
fn what_is_charged_when_the_headers_came_is_told_when_the_body_has() {
    let mut world = World::of(json!({"key": "required"}));
    let ask = Ask::post("k", BODY);
    world.send(&ask).ran();
    let (fields, _) = world.last.clone().unwrap();
    assert_eq!(
        fields[1],
        ("ratelimit", "\"account\";r=9;t=3600".to_owned())
    );
    // Who gets what was there already is charged nothing, and told nothing.
    world.send(&ask).refused();
    assert_eq!(world.last.clone().unwrap().0, []);
}

#[test]
fn who_is_refused_anyway_need_not_send_a_body() {
    let rule = json!({"key": "required"});
    let mut world = World::new(policy(rule, |document| {
        document["limits"]["account"]["burst"] = json!(1);
    }));
    world.send(&Ask::post("k", BODY)).ran();
    let Half::Got(got) = world.head(&Ask::post("l", BODY)) else {
        panic!("its body is read");
    };
    assert!(matches!(got.refused(), Denial::QuotaExceeded { .. }));
}
