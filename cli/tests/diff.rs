//! `tidegate diff`, as a process.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::fs;

use common::{run, run_in};
use serde_json::{Value, json};

/// A policy with one of everything.
fn base() -> Value {
    json!({"policy": "p", "version": "1",
        "identity": {"tenant": [{"jwt": "org"}], "account": [{"jwt": "sub"}, {"header": "x-key", "secret": true}],
                     "address": {"ipv6_prefix": 64, "signed": {"header": "x-client", "key_env": "K"}}},
        "limits": {
            "ceiling": {"per": ["tenant"], "rate": "600/min", "burst": 100},
            "account": {"per": ["tenant", "account"], "rate": "60/min", "burst": 10},
            "extra": {"per": ["address"], "rate": "1/s", "burst": 5}},
        "always": ["ceiling", "account"],
        "routes": [
            {"name": "pay", "match": {"methods": ["POST"], "path": "/pay"}, "limits": ["extra"], "cost": 2,
             "anonymous": "deny", "idempotency": {"key": "required"}},
            {"name": "hook", "match": {"path": "/hooks/*"}, "dedupe": {"by": [{"header": "x-id"}]}},
            {"name": "read", "match": {"path": "/read/{id}"}, "cache": {"scope": ["tenant", "account"]}},
            {"name": "rest", "match": {"path": "/*"}}]})
}

/// Compares the base with what `edit` makes of it.
fn compared(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut new = base();
    edit(&mut new);
    between(&base(), &new)
}

/// Compares two policies; each difference as `KIND PATH TEXT`.
fn between(old: &Value, new: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.json"), old.to_string()).unwrap();
    fs::write(folder.path().join("new.json"), new.to_string()).unwrap();
    let ran = run_in(
        folder.path(),
        &[
            "diff",
            "old.json",
            "new.json",
            "--format",
            "json",
            "--exit-code",
        ],
    );
    assert_eq!(ran.status, 1, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["different"], true);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    report["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            format!(
                "{} {} {}",
                text(&c["kind"]),
                text(&c["path"]),
                text(&c["text"])
            )
        })
        .collect()
}

/// Sets what stands at a JSON pointer.
fn set(pointer: &str, value: Value) -> Vec<String> {
    compared(|document| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        match parent {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            other => other[key] = value,
        }
    })
}

#[test]
fn a_policy_is_no_other_than_itself() {
    let ran = run(&[
        "diff",
        "policies/plans",
        "policies/plans/policy.json",
        "--exit-code",
    ]);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (0, "plans 2026-11-29.1: no difference\n")
    );
    let report = run(&[
        "diff",
        "policies/plans",
        "policies/plans",
        "--format",
        "json",
    ])
    .json();
    assert_eq!(report["different"], false);
    assert_eq!(report["changes"], json!([]));
}

#[test]
fn exit_statuses_are_those_of_git() {
    assert_eq!(
        run(&["diff", "policies/plans", "policies/guests"]).status,
        0
    );
    assert_eq!(
        run(&["diff", "policies/plans", "policies/guests", "--exit-code"]).status,
        1
    );
    let ran = run(&[
        "diff",
        "policies/plans",
        "policies/plans/mistake",
        "--exit-code",
    ]);
    assert_eq!(ran.status, 4);
    assert!(
        ran.err
            .contains("policies/plans/mistake/policy.json:15:7: `$.limits.account.plans`"),
        "{}",
        ran.err
    );
}

#[test]
fn numbers_of_limits() {
    assert_eq!(
        set("/limits/account/rate", json!("30/min")),
        [
            "stricter $.limits.account limit `account`, all callers: 60/min burst 10 -> 30/min burst 10"
        ]
    );
    assert_eq!(
        set("/limits/account/burst", json!(20)),
        [
            "looser $.limits.account limit `account`, all callers: 60/min burst 10 -> 60/min burst 20"
        ]
    );
    // The same pace in another unit is no difference.
    let found = compared(|new| {
        new["limits"]["account"]["rate"] = json!("1/s");
        new["version"] = json!("2");
    });
    assert_eq!(found, ["changed $.version version `1` -> `2`"]);
}

#[test]
fn callers_on_a_plan_or_with_an_override() {
    let found = compared(|new| {
        new["identity"]["plan"] = json!([{"jwt": "plan"}]);
        new["limits"]["account"]["plans"] = json!({"paid": {"rate": "600/min", "burst": 100}});
        new["limits"]["account"]["overrides"] =
            json!({"tenant": {"slow": {"rate": "1/min", "burst": 2}}});
    });
    assert_eq!(
        found,
        [
            "new $.identity.plan callers who have `jwt plan`: known as plan by it, where no source before it is there",
            "looser $.limits.account.plans.paid limit `account`, callers on plan `paid` (like others before): 60/min burst 10 -> 600/min burst 100",
            "stricter $.limits.account.overrides.tenant.slow limit `account`, callers of tenant `slow` (like others before): 60/min burst 10 -> 1/min burst 2",
        ]
    );
}

/// Edits that each make exactly one difference of this kind, at this place.
#[test]
fn every_part_of_a_policy_is_compared() {
    for (pointer, value, expected) in [
        ("/policy", json!("q"), "changed $.policy"),
        ("/mode", json!("shadow"), "looser $.mode"),
        ("/canary", json!({"percent": 5}), "looser $.canary"),
        (
            "/identity/tenant",
            json!([{"jwt": "tenant"}]),
            "gone $.identity.tenant",
        ),
        (
            "/identity/account",
            json!([{"header": "x-key", "secret": true}, {"jwt": "sub"}]),
            "changed $.identity.account",
        ),
        (
            "/identity/account/1/secret",
            json!(false),
            "changed $.identity.account",
        ),
        (
            "/identity/tenant/0/payload",
            json!("other"),
            "changed $.identity.tenant",
        ),
        (
            "/identity/address/ipv6_prefix",
            json!(48),
            "stricter $.identity.address.ipv6_prefix",
        ),
        (
            "/identity/address/signed/header",
            json!("x-other"),
            "changed $.identity.address.signed.header",
        ),
        (
            "/identity/address/signed/key_env",
            json!("L"),
            "changed $.identity.address.signed.key_env",
        ),
        (
            "/identity/address/signed/max_age",
            json!("5min"),
            "looser $.identity.address.signed.max_age",
        ),
        (
            "/identity/address",
            json!({}),
            "gone $.identity.address.signed",
        ),
        (
            "/limits/account/per",
            json!(["account"]),
            "stricter $.limits.account.per",
        ),
        (
            "/limits/account/otherwise",
            json!("host"),
            "changed $.limits.account.otherwise",
        ),
        (
            "/limits/account/shadow",
            json!(true),
            "looser $.limits.account.shadow",
        ),
        (
            "/limits/account/max_keys",
            json!(1024),
            "changed $.limits.account.max_keys",
        ),
        (
            "/limits/new",
            json!({"per": ["host"], "rate": "1/s"}),
            "new $.limits.new",
        ),
        ("/always", json!(["account", "ceiling"]), "changed $.always"),
        ("/always", json!(["ceiling"]), "looser $.always"),
        (
            "/routes/0/match/path",
            json!("/pays"),
            "changed $.routes[0].match",
        ),
        ("/routes/0/limits", json!([]), "looser $.routes[0].limits"),
        (
            "/routes/1/limits",
            json!(["extra"]),
            "stricter $.routes[1].limits",
        ),
        ("/routes/0/cost", json!(1), "looser $.routes[0].cost"),
        (
            "/routes/0/cost",
            json!({"header": "x-cost"}),
            "changed $.routes[0].cost",
        ),
        (
            "/routes/0/anonymous",
            json!("allow"),
            "looser $.routes[0].anonymous",
        ),
        ("/routes/0/mode", json!("shadow"), "looser $.routes[0].mode"),
        (
            "/routes/2/cache/scope",
            json!(["tenant"]),
            "looser $.routes[2].cache.scope",
        ),
        (
            "/routes/2/cache/scope",
            json!("public"),
            "looser $.routes[2].cache.scope",
        ),
        (
            "/routes/2/cache/by",
            json!("header"),
            "changed $.routes[2].cache.by",
        ),
        (
            "/routes/2/cache/seal",
            json!("off"),
            "looser $.routes[2].cache.seal",
        ),
        (
            "/routes/2/cache/owner_header",
            json!("x-owner"),
            "stricter $.routes[2].cache.owner_header",
        ),
        (
            "/routes/3/cache",
            json!({"scope": ["tenant"]}),
            "new $.routes[3].cache",
        ),
        (
            "/routes/3/idempotency",
            json!({"key": "optional"}),
            "new $.routes[3].idempotency",
        ),
        (
            "/routes/0/idempotency/key",
            json!("optional"),
            "looser $.routes[0].idempotency.key",
        ),
        (
            "/routes/0/idempotency/ttl",
            json!("1h"),
            "looser $.routes[0].idempotency.ttl",
        ),
        (
            "/routes/0/idempotency/lease",
            json!("2min"),
            "stricter $.routes[0].idempotency.lease",
        ),
        (
            "/routes/0/idempotency/fingerprint",
            json!("key-only"),
            "looser $.routes[0].idempotency.fingerprint",
        ),
        (
            "/routes/0/idempotency/syntax",
            json!("strict"),
            "stricter $.routes[0].idempotency.syntax",
        ),
        (
            "/routes/0/idempotency/max_key_length",
            json!(64),
            "stricter $.routes[0].idempotency.max_key_length",
        ),
        (
            "/routes/0/idempotency/max_body",
            json!("2MiB"),
            "looser $.routes[0].idempotency.max_body",
        ),
        (
            "/routes/0/idempotency/unknown",
            json!("retry"),
            "looser $.routes[0].idempotency.unknown",
        ),
        (
            "/routes/0/idempotency/execution",
            json!("detached"),
            "changed $.routes[0].idempotency.execution",
        ),
        (
            "/routes/0/idempotency/release_statuses",
            json!([429]),
            "changed $.routes[0].idempotency.release_statuses",
        ),
        (
            "/routes/1/dedupe/by",
            json!([{"body": "digest"}]),
            "changed $.routes[1].dedupe.by",
        ),
        (
            "/routes/1/dedupe/status",
            json!(204),
            "changed $.routes[1].dedupe.status",
        ),
        (
            "/routes/1/dedupe/unknown",
            json!("hold"),
            "stricter $.routes[1].dedupe.unknown",
        ),
        (
            "/problem_base",
            json!("https://a.test/"),
            "changed $.problem_base",
        ),
        ("/headers", json!("off"), "changed $.headers"),
        ("/legacy_headers", json!(true), "changed $.legacy_headers"),
        ("/store_error", json!("pass"), "looser $.store_error"),
        ("/store_full", json!("pass"), "looser $.store_full"),
        (
            "/capacity",
            json!({"records": 8192}),
            "changed $.capacity.records",
        ),
        (
            "/capacity",
            json!({"bytes": "1MiB"}),
            "stricter $.capacity.bytes",
        ),
    ] {
        let found = set(pointer, value);
        assert!(
            found[0].starts_with(&format!("{expected} ")),
            "{pointer}: {found:#?}"
        );
        // A source in place of another is two.
        let several = pointer == "/identity/tenant";
        assert_eq!(
            found.len(),
            if several { 2 } else { 1 },
            "{pointer}: {found:#?}"
        );
    }
}

#[test]
fn the_share_of_a_canary() {
    let five = json!({"percent": 5});
    for (old, new, expected) in [
        (
            Some(five.clone()),
            None,
            "stricter $.canary every caller: enforced for 5 of a hundred callers -> for all",
        ),
        (
            Some(five.clone()),
            Some(json!({"percent": 25})),
            "stricter $.canary every caller: enforced for 5 -> 25 of a hundred callers",
        ),
        (
            Some(json!({"percent": 25})),
            Some(five.clone()),
            "looser $.canary every caller: enforced for 25 -> 5 of a hundred callers",
        ),
        (
            Some(five),
            Some(json!({"percent": 5, "by": ["tenant", "address"]})),
            "changed $.canary every caller: the share is told apart by account -> tenant, address: others are in it",
        ),
    ] {
        let with = |canary: &Option<Value>| {
            let mut document = base();
            if let Some(canary) = canary {
                document["canary"] = canary.clone();
            }
            document
        };
        assert_eq!(between(&with(&old), &with(&new)), [expected]);
    }
}

#[test]
fn routes_that_come_and_go_and_change_places() {
    let found = compared(|new| {
        new["routes"].as_array_mut().unwrap().remove(0);
    });
    assert_eq!(
        found,
        [
            "gone $.routes[0] requests of the route `pay` (POST /pay): decided by the route `rest`; what is sent again runs again"
        ]
    );
    let found = compared(|new| {
        let route = json!({"name": "big", "match": {"methods": ["POST"], "path": "/hooks/big"}});
        new["routes"].as_array_mut().unwrap().insert(0, route);
    });
    assert_eq!(
        found,
        [
            "new $.routes[0] requests POST /hooks/big: a route `big` of their own, no limits of its own; the route `hook` decided about them before"
        ]
    );
    let found = compared(|new| new["routes"].as_array_mut().unwrap().swap(2, 3));
    assert_eq!(
        found,
        [
            "changed $.routes[2] requests that `read` and `rest` both take: `rest` decides, and no longer `read`"
        ]
    );
    // Routes that share no request may stand in any order.
    let (old, mut new) = (base(), base());
    new["routes"].as_array_mut().unwrap().swap(0, 1);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.json"), old.to_string()).unwrap();
    fs::write(folder.path().join("new.json"), new.to_string()).unwrap();
    assert_eq!(
        run_in(
            folder.path(),
            &["diff", "old.json", "new.json", "--exit-code"]
        )
        .status,
        0
    );
}

#[test]
fn what_is_about_everybody_comes_first() {
    let found = compared(|new| {
        new["version"] = json!("2");
        new["routes"][0]["cost"] = json!(1);
        new["limits"]["account"]["burst"] = json!(5);
        new["mode"] = json!("shadow");
        new["always"] = json!(["ceiling"]);
    });
    let places: Vec<_> = found.iter().map(|f| f.split(' ').nth(1).unwrap()).collect();
    assert_eq!(
        places,
        [
            "$.mode",
            "$.always",
            "$.routes[0].cost",
            "$.limits.account",
            "$.version"
        ]
    );
}

#[test]
fn what_an_override_takes_the_place_of_is_compared() {
    let plans = json!({"paid": {"rate": "600/min", "burst": 100}});
    let quota = |rate: &str, burst: u32| json!({"rate": rate, "burst": burst});
    let limit = |overrides: Value| {
        json!({"policy": "p", "version": "1",
            "identity": {"tenant": [{"header": "x-t"}], "account": [{"header": "x-a"}], "plan": [{"header": "x-p"}]},
            "limits": {"acc": {"per": ["tenant", "account"], "rate": "60/min", "burst": 10, "plans": plans, "overrides": overrides}},
            "always": ["acc"]})
    };
    // Worth as much as the limit itself, but not as the plan that it takes the place of.
    let (none, own) = (json!({}), json!({"tenant": {"acme": quota("60/min", 10)}}));
    assert_eq!(
        between(&limit(none.clone()), &limit(own.clone())),
        [
            "stricter $.limits.acc.overrides.tenant.acme limit `acc`, callers of tenant `acme` on plan `paid`: 600/min burst 100 -> 60/min burst 10"
        ]
    );
    assert_eq!(
        between(&limit(own), &limit(none)),
        [
            "looser $.limits.acc.overrides.tenant.acme limit `acc`, callers of tenant `acme` on plan `paid`: 60/min burst 10 -> 600/min burst 100"
        ]
    );
    let tenant = json!({"acme": quota("6000/min", 1000)});
    let with = json!({"tenant": tenant, "account": {"bob": quota("60/min", 10)}});
    assert_eq!(
        between(&limit(json!({"tenant": tenant})), &limit(with)),
        [
            "stricter $.limits.acc.overrides.account.bob limit `acc`, the account `bob` of tenant `acme`: 6000/min burst 1000 -> 60/min burst 10",
            "stricter $.limits.acc.overrides.account.bob limit `acc`, the account `bob` on plan `paid`: 600/min burst 100 -> 60/min burst 10",
        ]
    );
}

#[test]
fn who_shares_copies_when_the_last_route_for_caches_is_gone() {
    let policy = |routes: Value| json!({"policy": "p", "version": "1", "identity": {"account": [{"header": "x-a"}]}, "routes": routes});
    let cached = |name: &str| json!({"name": name, "match": {"path": format!("/{name}")}, "cache": {"scope": ["account"]}});
    let plain = json!({"name": "a", "match": {"path": "/a"}});
    assert_eq!(
        between(&policy(json!([cached("a")])), &policy(json!([plain]))),
        [
            "changed $.routes every caller: nothing is said to caches any more, which keep what the origin lets them",
            "gone $.routes[0].cache route `a`: nobody says whose copies are whose any more",
        ]
    );
    assert_eq!(
        between(
            &policy(json!([cached("a"), cached("b")])),
            &policy(json!([plain, cached("b")]))
        ),
        [
            "gone $.routes[0].cache route `a`: no copies are kept any more; every request reaches the origin"
        ]
    );
    let mut shadow = policy(json!([cached("a")]));
    shadow["mode"] = json!("shadow");
    assert_eq!(
        between(&policy(json!([cached("a")])), &shadow),
        [
            "looser $.mode every caller: nobody is refused any more, and caches are left alone, which keep what the origin lets them (enforce -> shadow)"
        ]
    );
}
