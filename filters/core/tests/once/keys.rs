//! Which requests have a record, and whose it is.

use serde_json::json;
use tidegate_core::denial::Denial;
use tidegate_core::records::set;
use tidegate_core::store::{Slot, Store};

use crate::stores::Watched;
use crate::world::{Ask, BURST, Got, World, policy, told};

#[test]
fn a1_a2_a5_one_key_however_it_is_written() {
    let mut world = World::of(json!({"key": "required"}));
    world.run(&Ask::post("\"k-1\"", "{}"), 201, b"first");
    for key in ["\"k-1\"", "k-1", "\"k-1\";a=1", " k-1 ;a"] {
        let replay = world.send(&Ask::post(key, "{}")).replayed();
        assert_eq!((replay.status, replay.body), (201, b"first".to_vec()));
    }
    let mut strict = World::of(json!({"key": "required", "syntax": "strict"}));
    strict.run(&Ask::post("\"k-1\"", "{}"), 201, b"first");
    let denial = strict.send(&Ask::post("k-1", "{}")).refused();
    assert!(matches!(denial, Denial::IdempotencyKeyInvalid(_)));
    assert_eq!(told(&strict.policy, &denial).status, 400);
}

#[test]
fn a3_a4_a6_what_is_no_key_is_refused_before_the_store_is_asked() {
    for syntax in ["lenient", "strict"] {
        for key in ["required", "optional"] {
            let rule = json!({"key": key, "syntax": syntax});
            let mut world = World::on(policy(rule, |_| {}), Watched::default());
            let long = "k".repeat(256);
            for key in ["\"a", "\"a\\x\"", "\"a\tb\"", "\"\u{e9}\"", "\"\"", &long] {
                let denial = world.send(&Ask::post(key, "{}")).refused();
                assert!(matches!(denial, Denial::IdempotencyKeyInvalid(_)), "{key}");
            }
            let twice = Ask::post("\"a\"", "{}").with("idempotency-key", "\"a\"");
            let denial = world.send(&twice).refused();
            assert!(matches!(denial, Denial::IdempotencyKeyInvalid(_)));
            assert_eq!(world.store.calls, 0);
        }
    }
}

#[test]
fn a7_a_key_that_is_missing_where_it_is_required() {
    let mut world = World::of(json!({"key": "required"}));
    let denial = world.send(&Ask::bare("/charges/new").body("{}")).refused();
    assert_eq!(denial, Denial::IdempotencyKeyMissing);
    let answer = told(&world.policy, &denial);
    let body = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 400);
    assert!(body.contains("urn:tidegate:problem:idempotency-key-missing"));
    assert_eq!(world.left(), BURST, "what is refused is not charged");

    let mut world = World::of(json!({"key": "optional"}));
    for _ in 0..2 {
        let got = world.send(&Ask::bare("/charges/new").body("{}"));
        assert_eq!(got, Got::Went);
    }
    assert_eq!(world.left(), BURST - 2);
}

#[test]
fn a12_another_caller_or_place_is_another_request() {
    let mut world = World::of(json!({"key": "required"}));
    let first = Ask::post("k", "{}");
    world.run(&first, 200, b"first");
    for other in [
        first.clone().set("x-tenant", Some("other")),
        first.clone().set("x-tenant", None),
        first.clone().set("x-account", Some("bob")),
        first.clone().method("PATCH"),
        first.clone().host("other.test"),
        first.clone().path("/charges/other"),
        first.clone().path("/charges/NEW"),
        first.clone().set("idempotency-key", Some("K")),
    ] {
        world.run(&other, 200, b"another");
    }
    // The port is no part of the host, and the spelling of a path is none of the path.
    for same in [first.clone(), first.clone().host("API.test:443")] {
        assert_eq!(world.send(&same).replayed().body, b"first");
    }
}

#[test]
fn a13_strangers_share_no_record() {
    let nobody = Ask::post("k", "{}").set("x-account", None);
    let blank = Ask::post("k", "{}").set("x-account", Some(" "));
    let mut world = World::of(json!({"key": "required"}));
    for ask in [&nobody, &blank] {
        let denial = world.send(ask).refused();
        assert_eq!(denial, Denial::IdentityRequired);
        assert_eq!(told(&world.policy, &denial).status, 401);
    }
    let mut world = World::of(json!({"key": "optional"}));
    for ask in [&nobody, &blank, &nobody] {
        assert_eq!(world.send(ask), Got::Went);
    }
}

#[test]
fn a13_the_tenant_is_the_caller_where_no_account_is_ever_known() {
    let rule = json!({"key": "required"});
    let mut world = World::new(policy(rule, |document| {
        document["identity"] = json!({"tenant": [{"header": "x-tenant"}]});
        document["limits"] = json!({});
        document["always"] = json!([]);
    }));
    world.run(&Ask::post("k", "{}"), 200, b"first");
    world.send(&Ask::post("k", "{}")).replayed();
    let denial = world.send(&Ask::post("k", "{}").set("x-tenant", None));
    assert_eq!(denial.refused(), Denial::IdentityRequired);
}

#[test]
fn a14_parts_of_a_record_key_do_not_run_together() {
    let mut world = World::of(json!({"key": "required"}));
    let of = |tenant: &str, account: &str| {
        let ask = Ask::post("k", "{}").set("x-tenant", Some(tenant));
        ask.set("x-account", Some(account))
    };
    world.run(&of("a", "bc"), 200, b"first");
    world.run(&of("ab", "c"), 200, b"second");
    assert_eq!(world.send(&of("a", "bc")).replayed().body, b"first");
}

#[test]
fn a38_keys_act_on_post_and_patch_and_where_the_route_names_the_method() {
    let mut world = World::of(json!({"key": "required"}));
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        let ask = Ask::post("k", "{}").method(method);
        assert_eq!(world.send(&ask), Got::Went, "{method}");
        // A malformed key is none of our business there.
        let ask = Ask::post("\"", "{}").method(method);
        assert_ne!(
            world.send(&ask.set("x-account", Some("bob"))),
            Got::Refused(Denial::IdempotencyKeyMissing)
        );
    }
    for method in ["POST", "PATCH"] {
        world.run(&Ask::post("k", "{}").method(method), 200, b"");
    }
    let rule = json!({"key": "required"});
    let mut named = World::new(policy(rule, |document| {
        document["routes"][0]["match"]["methods"] = json!(["PUT", "DELETE", "GET"]);
    }));
    for method in ["PUT", "DELETE"] {
        named.run(&Ask::post("k", "{}").method(method), 200, b"");
        named.send(&Ask::post("k", "{}").method(method)).replayed();
    }
    assert_eq!(named.send(&Ask::post("k", "{}").method("GET")), Got::Went);
}

#[test]
fn a42_a_record_holds_neither_key_nor_body() {
    let mut world = World::of(json!({"key": "required"}));
    world
        .send(&Ask::post("secret-key", "{\"card\": 4242}"))
        .ran();
    let (sets, _) = set::shape(world.policy.room.records);
    let mut written = 0;
    for number in 0..sets {
        let (bytes, _) = world.store.read(Slot::Records(number)).unwrap();
        written += bytes.len();
        for part in [&b"secret"[..], b"4242", b"amy", b"acme"] {
            assert!(bytes.windows(part.len()).all(|window| window != part));
        }
    }
    assert!(written > 0);
}
