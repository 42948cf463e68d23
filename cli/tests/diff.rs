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

/// Each as `mode` or `canary` of a policy has it.
#[test]
fn for_whom_it_is_in_force() {
    let all = ("mode", json!("enforce"));
    let nobody = ("mode", json!("shadow"));
    let share = |percent: u8| ("canary", json!({"percent": percent}));
    let by = json!({"percent": 5, "by": ["tenant", "address"]});
    for (old, new, expected) in [
        (
            share(5),
            all.clone(),
            "stricter $.canary every caller: enforced for 5 of a hundred callers -> for all",
        ),
        (
            share(100),
            all.clone(),
            "changed $.canary every caller: enforced for all 100 of a hundred callers, as a canary -> for all",
        ),
        (
            all.clone(),
            share(5),
            "looser $.canary every caller: enforced for all -> for 5 of a hundred callers, told apart by account; the others are in shadow, and caches are left alone",
        ),
        (
            all.clone(),
            share(100),
            "changed $.canary every caller: enforced for all -> for all 100 of a hundred callers, as a canary; caches are left alone",
        ),
        (
            nobody.clone(),
            share(5),
            "stricter $.mode every caller: enforced for nobody -> for 5 of a hundred callers, told apart by account; the others are in shadow, and caches are left alone",
        ),
        (
            nobody.clone(),
            share(0),
            "changed $.mode every caller: enforced for nobody -> for 0 of a hundred callers, told apart by account; the others are in shadow, and caches are left alone",
        ),
        (
            share(5),
            nobody.clone(),
            "looser $.mode every caller: enforced for 5 of a hundred callers -> for nobody (enforce -> shadow)",
        ),
        (
            nobody,
            all,
            "stricter $.mode every caller: what was counted is refused (shadow -> enforce)",
        ),
        (
            share(5),
            share(25),
            "stricter $.canary every caller: enforced for 5 -> 25 of a hundred callers",
        ),
        (
            share(25),
            share(5),
            "looser $.canary every caller: enforced for 25 -> 5 of a hundred callers",
        ),
        (
            share(5),
            ("canary", by),
            "changed $.canary every caller: the share is told apart by account -> tenant, address: others are in it",
        ),
    ] {
        let with = |(key, value): &(&str, Value)| {
            let mut document = base();
            document[key] = value.clone();
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
            "gone $.routes[0] requests of the route `pay` (POST /pay): decided by the route `rest`",
            "gone $.routes[0].idempotency requests of the route `pay`: a request that comes again with its `Idempotency-Key` runs again",
            "looser $.routes[0].limits requests of the route `pay`: no longer limited by `extra`",
            "looser $.routes[0].cost requests of the route `pay`: a request costs 2 -> 1",
            "looser $.routes[0].anonymous requests of the route `pay`, callers without an account: answered with 401 -> limited by what stands in for the account",
        ]
    );
    let found = compared(|new| {
        let route = json!({"name": "big", "match": {"methods": ["POST"], "path": "/hooks/big"}});
        new["routes"].as_array_mut().unwrap().insert(0, route);
    });
    assert_eq!(
        found,
        [
            "gone $.routes[0].dedupe requests of the route `big`: an event that is delivered again runs again",
            "new $.routes[0] requests POST /hooks/big: a route `big` of their own; the route `hook` decided about them before",
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

/// A route that takes requests from several, or from none, and one whose requests several take.
#[test]
fn whose_requests_a_route_takes() {
    let wide = json!({"name": "wide", "match": {"methods": ["GET", "POST"]}, "anonymous": "deny"});
    let found = compared(|new| {
        let routes = new["routes"].as_array_mut().unwrap();
        routes.insert(2, wide.clone());
        routes.pop();
    });
    assert_eq!(
        found,
        [
            "gone $.routes[3] requests of the route `rest` (of any method /*): decided by `wide`, or by no route",
            "gone $.routes[2].cache requests that `wide` takes from `read`: no copies are kept any more; every request reaches the origin",
            "stricter $.routes[3].anonymous requests of the route `rest` that `wide` takes, callers without an account: limited by what stands in for the account -> answered with 401",
            "stricter $.routes[2].anonymous requests that `wide` takes from `read`, callers without an account: limited by what stands in for the account -> answered with 401",
            "new $.routes[2] requests GET|POST any path: a route `wide` of their own; it takes some from `read`, `rest`",
        ]
    );
    // Before, no route took them; what stands first goes on taking its own.
    let mut old = base();
    old["routes"].as_array_mut().unwrap().truncate(1);
    let mut new = old.clone();
    new["routes"].as_array_mut().unwrap().push(
        json!({"name": "posts", "match": {"methods": ["POST"]}, "limits": ["extra"], "mode": "shadow"}),
    );
    assert_eq!(
        between(&old, &new),
        [
            "looser $.routes[1].mode requests of the route `posts`: nobody is refused any more (enforce -> shadow)",
            "stricter $.routes[1].limits requests of the route `posts`: limited by `extra`",
            "new $.routes[1] requests POST any path: a route `posts` of their own",
        ]
    );
}

/// Another name is another route, and records of events are kept by it.
#[test]
fn a_route_by_another_name() {
    let found = compared(|new| new["routes"][0]["name"] = json!("charge"));
    assert_eq!(
        found,
        [
            "gone $.routes[0] requests of the route `pay` (POST /pay): decided by the route `charge`",
            "new $.routes[0] requests POST /pay: a route `charge` of their own; the route `pay` decided about them before",
        ]
    );
    let found = compared(|new| new["routes"][1]["name"] = json!("event"));
    assert_eq!(
        found,
        [
            "gone $.routes[1] requests of the route `hook` (of any method /hooks/*): decided by the route `event`",
            "changed $.routes[1].dedupe requests of the route `hook`: records of events are a route's own and start anew: an event from before runs again when it is delivered again",
            "new $.routes[1] requests of any method /hooks/*: a route `event` of their own; the route `hook` decided about them before",
        ]
    );
}

#[test]
fn a_limit_that_moves_between_every_request_and_a_route() {
    let narrow = |document: &mut Value| {
        document["always"] = json!(["ceiling"]);
        document["routes"][0]["limits"] = json!(["extra", "account"]);
    };
    let (wide, mut own) = (base(), base());
    narrow(&mut own);
    assert_eq!(
        between(&wide, &own),
        ["looser $.always every request but those of `pay`: no longer limited by `account`"]
    );
    assert_eq!(
        between(&own, &wide),
        ["stricter $.always every request but those of `pay`: limited by `account`"]
    );
}

#[test]
fn a_limit_in_shadow_refuses_nobody() {
    let found = compared(|new| {
        new["limits"]["new"] = json!({"per": ["host"], "rate": "1/s", "shadow": true});
        new["always"] = json!(["ceiling", "account", "new"]);
    });
    assert_eq!(
        found,
        [
            "new $.limits.new every request: counted by `new`, which is in shadow, 1/s burst 60 per host"
        ]
    );
    let mut old = base();
    old["limits"]["extra"]["shadow"] = json!(true);
    let mut new = old.clone();
    new["routes"][0]["limits"] = json!([]);
    new["routes"][1]["limits"] = json!(["extra"]);
    assert_eq!(
        between(&old, &new),
        [
            "changed $.routes[0].limits route `pay`: no longer counted by `extra`, which was in shadow",
            "changed $.routes[1].limits route `hook`: counted by `extra`, which is in shadow",
        ]
    );
}

#[test]
fn a_key_that_comes_to_be_required() {
    let found = set("/routes/3/idempotency", json!({"key": "required"}));
    assert_eq!(
        found,
        [
            "stricter $.routes[3].idempotency.key route `rest`: a request without a key is refused, and so is a caller who is nobody",
            "new $.routes[3].idempotency route `rest`: a request that comes again with its `Idempotency-Key` is recognised for 1day",
        ]
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
