//! Events: recognised by what they are, however often they are delivered.

use serde_json::{Value, json};
use tidegate_core::answer::retry_after;
use tidegate_core::denial::Denial;
use tidegate_core::idempotency::Outcome;

use crate::world::{Ask, BURST, Got, HOUR, SECOND, World, hooks, told};

fn world(by: Value) -> World {
    World::new(hooks(json!({"by": by})))
}

#[test]
fn e1_e2_an_id_in_a_header_whatever_else_differs() {
    let mut world = world(json!([{"header": "webhook-id"}]));
    let delivery = |time: &str| {
        Ask::event("{\"n\": 1}")
            .with("webhook-id", "msg_1")
            .with("webhook-timestamp", time)
            .with("webhook-signature", &format!("v1,{time}"))
            .with("traceparent", time)
            .with("date", time)
    };
    // Where a header names it, nothing waits for the body.
    let running = world.head(&delivery("1")).got().ran();
    world.answer(&running, 200, &[], b"ok");
    for time in ["2", "3"] {
        let replay = world.head(&delivery(time)).got().replayed();
        assert_eq!((replay.status, replay.body), (200, b"ok".to_vec()));
    }
    assert_eq!(world.left(), BURST - 1);
    let other = Ask::event("{}").with("webhook-id", "msg_2");
    world.send(&other).ran();
}

#[test]
fn a_header_that_names_the_event_makes_the_body_no_matter_how_large() {
    let by = json!([{"header": "webhook-id"}, {"body": "digest"}]);
    let mut world = World::new(hooks(json!({"by": by, "max_body": "4B"})));
    let named = Ask::event("far more than four").with("content-length", "18");
    world
        .head(&named.clone().with("webhook-id", "1"))
        .got()
        .ran();
    assert_eq!(world.send(&named).refused(), Denial::BodyTooLarge);
}

#[test]
fn an_event_by_a_part_of_its_body() {
    let mut world = world(json!([{"json": "/data/id"}, {"json": "/id"}]));
    world.run(&Ask::event(r#"{"data": {"id": "a"}, "at": 1}"#), 204, b"");
    let again = Ask::event(r#"{"at": 2, "data": {"id": "a"}}"#);
    assert_eq!(world.send(&again).replayed().status, 204);
    // Another place is another event, and so is a number where there was text.
    world.run(&Ask::event(r#"{"id": "a"}"#), 204, b"");
    world.run(&Ask::event(r#"{"data": {"id": 7}}"#), 204, b"");
    world.run(&Ask::event(r#"{"data": {"id": 8}}"#), 204, b"");
    world.send(&Ask::event(r#"{"data": {"id": 7}}"#)).replayed();
    // What is neither is no identity.
    for none in [
        "{}",
        "no json",
        r#"{"data": {"id": ""}}"#,
        r#"{"data": {"id": " "}}"#,
        r#"{"data": {"id": null}}"#,
        r#"{"data": {"id": true}}"#,
        r#"{"data": {"id": {"a": 1}}}"#,
    ] {
        let before = world.left();
        assert_eq!(world.send(&Ask::event(none)), Got::Went, "{none}");
        assert_eq!(world.left(), before - 1, "{none}");
        world.now += HOUR;
    }
}

#[test]
fn numbers_that_a_double_cannot_tell_apart_are_no_identity() {
    let mut world = world(json!([{"json": "/id"}]));
    for id in ["18446744073709551616", "18446744073709551617", "1.5", "1e3"] {
        let event = Ask::event(&format!("{{\"id\": {id}}}"));
        assert_eq!(world.send(&event), Got::Went, "{id}");
    }
    for id in ["18446744073709551614", "18446744073709551615", "-1"] {
        world.run(&Ask::event(&format!("{{\"id\": {id}}}")), 200, b"");
    }
}

#[test]
fn e8_an_event_by_its_digest() {
    let mut world = world(json!([{"body": "digest"}]));
    let event = |id: &str| Ask::event("{\"n\": 1}").with("x-shopify-webhook-id", id);
    world.run(&event("1"), 200, b"ok");
    world.send(&event("2")).replayed();
    world.send(&Ask::event("{\"n\":1}")).ran();
}

/// Shopify delivers an event once for each subscription, each time under another webhook id.
#[test]
fn e11_two_subscriptions_deliver_one_event() {
    let delivery = |event: &str, webhook: &str| {
        let event = Ask::event("{}").with("x-shopify-event-id", event);
        event.with("x-shopify-webhook-id", webhook)
    };
    let mut by_event = world(json!([{"header": "x-shopify-event-id"}]));
    by_event.run(&delivery("e1", "w1"), 200, b"");
    by_event.send(&delivery("e1", "w2")).replayed();
    by_event.send(&delivery("e2", "w1")).ran();
    let mut by_webhook = world(json!([{"header": "x-shopify-webhook-id"}]));
    by_webhook.run(&delivery("e1", "w1"), 200, b"");
    by_webhook.run(&delivery("e1", "w2"), 200, b"");
}

#[test]
fn the_first_source_that_is_present_wins_in_the_order_written() {
    let by = json!([{"json": "/id"}, {"header": "x-event"}, {"body": "digest"}]);
    let mut world = world(by);
    world.run(
        &Ask::event(r#"{"id": "a"}"#).with("x-event", "1"),
        200,
        b"by id",
    );
    let again = Ask::event(r#"{"id": "a", "n": 2}"#).with("x-event", "2");
    assert_eq!(world.send(&again).replayed().body, b"by id");
    // Without an id the header counts.
    world.run(
        &Ask::event(r#"{"n": 1}"#).with("x-event", "1"),
        200,
        b"by header",
    );
    let again = Ask::event(r#"{"n": 2}"#).with("x-event", "1");
    assert_eq!(world.send(&again).replayed().body, b"by header");
    // And without that the body.
    world.run(&Ask::event(r#"{"n": 1}"#), 200, b"by digest");
    assert_eq!(
        world.send(&Ask::event(r#"{"n": 1}"#)).replayed().body,
        b"by digest"
    );
}

#[test]
fn sources_do_not_meet() {
    let mut world = world(json!([{"header": "x-event"}, {"json": "/id"}]));
    world.run(&Ask::event("{}").with("x-event", "a"), 200, b"");
    world.run(&Ask::event(r#"{"id": "a"}"#), 200, b"");
    // A header that is empty names nothing.
    world
        .send(&Ask::event(r#"{"id": "a"}"#).with("x-event", " "))
        .replayed();
}

#[test]
fn a_header_that_names_two_events_is_refused() {
    let mut world = world(json!([{"header": "x-event"}]));
    let twice = Ask::event("{}").with("x-event", "a").with("x-event", "a");
    let denial = world.send(&twice).refused();
    assert_eq!(
        denial,
        Denial::EventAmbiguous {
            header: "x-event".to_owned()
        }
    );
    assert_eq!(told(&world.policy, &denial).status, 400);
}

#[test]
fn e3_another_tenant_or_endpoint_processes_it_too() {
    let mut world = world(json!([{"header": "x-github-delivery"}]));
    let event = Ask::event("{}").with("x-github-delivery", "1");
    world.run(&event, 200, b"");
    for other in [
        event.clone().set("x-tenant", Some("other")),
        event.clone().set("x-account", Some("bob")),
        event.clone().path("/hooks/other"),
        event.clone().path("/others/in"),
        event.clone().host("other.test"),
    ] {
        world.run(&other, 200, b"");
        world.send(&other).replayed();
    }
    world.send(&event).replayed();
}

#[test]
fn e4_e5_a_duplicate_is_told_to_come_back_and_then_that_it_arrived() {
    let mut world = world(json!([{"header": "webhook-id"}]));
    let event = Ask::event("{}").with("webhook-id", "1");
    let running = world.send(&event).ran();
    let denial = world.send(&event).refused();
    assert_eq!(denial, Denial::RequestInProgress);
    assert_eq!(retry_after(&denial), Some(1));
    world.answer(&running, 202, &[("x-queue", "7")], b"taken");
    let replay = world.send(&event).replayed();
    assert_eq!((replay.status, replay.body), (202, b"taken".to_vec()));
}

#[test]
fn a_duplicate_gets_the_status_that_is_configured_and_no_more() {
    let by = json!([{"header": "webhook-id"}]);
    let mut world = World::new(hooks(json!({"by": by, "status": 208, "max_body": "4B"})));
    for (id, body) in [("1", &b"ok"[..]), ("2", b"far too large to keep")] {
        let event = Ask::event("{}").with("webhook-id", id);
        world.run(&event, 200, body);
        let replay = world.send(&event).replayed();
        assert_eq!((replay.status, replay.body), (208, Vec::new()));
        assert_eq!(
            replay.headers,
            [(b"idempotent-replayed".to_vec(), b"true".to_vec())]
        );
    }
}

#[test]
fn e4_a_duplicate_is_told_that_it_arrived_though_its_answer_cannot_be_sent() {
    let by = json!([{"header": "webhook-id"}]);
    let mut world = World::new(hooks(json!({"by": by, "max_body": "4B"})));
    let large = Ask::event("{}").with("webhook-id", "1");
    world.run(&large, 201, b"far too large to keep");
    assert_eq!(world.send(&large).replayed().status, 200);

    let coded = Ask::event("{}").with("webhook-id", "2");
    let running = world.send(&coded).ran();
    world.answer(&running, 201, &[("content-encoding", "br")], b"abc");
    let again = coded.with("accept-encoding", "gzip");
    let replay = world.send(&again).replayed();
    assert_eq!((replay.status, replay.body), (201, Vec::new()));
}

#[test]
fn e6_only_success_is_final() {
    let mut world = world(json!([{"header": "webhook-id"}]));
    let event = Ask::event("{}").with("webhook-id", "1");
    for status in [302, 400, 404, 410, 429, 500, 503, 504] {
        world.now += HOUR;
        world.run(&event, status, b"no");
    }
    let running = world.send(&event).ran();
    world.end(&running, Outcome::NotSent);
    let running = world.send(&event).ran();
    world.end(&running, Outcome::Lost);
    // Its lease ends: the worker that delivered it is gone.
    world.send(&event).ran();
    world.now += 60 * SECOND;
    world.run(&event, 299, b"yes");
    assert_eq!(world.send(&event).replayed().body, b"yes");
}

#[test]
fn a_policy_may_hold_an_event_whose_outcome_is_unknown() {
    let by = json!([{"header": "webhook-id"}]);
    let mut world = World::new(hooks(json!({"by": by, "unknown": "hold"})));
    let event = Ask::event("{}").with("webhook-id", "1");
    let running = world.send(&event).ran();
    world.end(&running, Outcome::Lost);
    assert_eq!(world.send(&event).refused(), Denial::OutcomeUnknown);
}

#[test]
fn e7_events_are_remembered_longer_than_senders_try_again() {
    let mut world = world(json!([{"header": "webhook-id"}]));
    let event = Ask::event("{}").with("webhook-id", "1");
    world.run(&event, 200, b"");
    world.now += 80 * HOUR - 1;
    world.send(&event).replayed();
    world.now += 1;
    world.send(&event).ran();
}

#[test]
fn who_may_not_send_another_event_is_refused_before_its_body_is_read() {
    let mut world = world(json!([{"json": "/id"}]));
    for index in 0..BURST {
        world
            .send(&Ask::event(&format!("{{\"id\": {index}}}")))
            .ran();
    }
    let denial = world.head(&Ask::event("{\"id\": 99}")).got().refused();
    assert!(matches!(denial, Denial::QuotaExceeded { .. }));
}

/// A sender that asks whether the receiver is there, or a browser that asks whether it may send, has delivered nothing.
#[test]
fn a_request_that_only_asks_is_no_delivery() {
    let by = json!([{"header": "webhook-id"}, {"body": "digest"}]);
    let event = || Ask::event("{}").with("webhook-id", "msg_1");
    let mut world = world(by.clone());
    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
        assert_eq!(
            world.head(&event().method(method)).got(),
            Got::Went,
            "{method}"
        );
    }
    world.run(&event(), 200, b"done");
    world.send(&event()).replayed();
    world.send(&event().method("PUT")).replayed();
    // A route may be for such requests by name.
    let mut policy = hooks(json!({"by": by}));
    policy.routes[0].matcher.methods = vec!["GET".to_owned(), "POST".to_owned()];
    let mut world = World::new(policy);
    let asks = || event().method("GET");
    let running = world.head(&asks()).got().ran();
    world.answer(&running, 200, &[], b"ok");
    world.head(&asks()).got().replayed();
}
