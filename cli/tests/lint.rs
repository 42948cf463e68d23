//! `tidegate lint`, as a process.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::fs;

use common::{root, run, run_in};
use serde_json::{Value, json};

/// Lints one document, and returns the exit status and the findings in JSON.
fn lint(document: &str) -> (i32, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.json"), document).unwrap();
    let ran = run_in(folder.path(), &["lint", "p.json", "--format", "json"]);
    let findings = ran.json()["findings"].as_array().unwrap().clone();
    (ran.status, findings)
}

/// The warnings about a policy with these members, as `PATH MESSAGE`.
fn warnings(members: Value) -> Vec<String> {
    let mut document = json!({"policy": "p", "version": "1", "identity": {
        "tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}], "plan": [{"header": "x-plan"}]}});
    for (key, value) in members.as_object().unwrap() {
        document[key] = value.clone();
    }
    let (status, findings) = lint(&document.to_string());
    assert_eq!(
        status,
        if findings.is_empty() { 0 } else { 3 },
        "{findings:?}"
    );
    findings
        .iter()
        .map(|found| {
            assert_eq!(found["kind"], "warning", "{found}");
            let text = |key: &str| found[key].as_str().unwrap().to_owned();
            format!("{} {}", text("path"), text("message"))
        })
        .collect()
}

#[test]
fn every_policy_is_clean_and_every_seeded_mistake_is_told() {
    let mut seeded = 0;
    for entry in fs::read_dir(root().join("policies")).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        let name = format!("policies/{}", entry.file_name().to_str().unwrap());
        let ran = run(&["lint", &name]);
        assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{name}");
        assert!(root().join(&name).join("mistake").is_dir(), "{name}");
        for (sibling, status) in [("mistake", 1), ("doubt", 3)] {
            let sibling = format!("{name}/{sibling}");
            let Ok(expected) = fs::read_to_string(root().join(&sibling).join("expected.txt"))
            else {
                continue;
            };
            let ran = run(&["lint", &sibling]);
            assert_eq!(ran.out, expected, "{sibling}");
            assert_eq!(ran.status, status, "{sibling}");
            seeded += 1;
        }
    }
    assert!(seeded >= 8, "{seeded}");
}

#[test]
fn all_mistakes_come_in_one_pass_with_line_and_column() {
    let (status, findings) = lint(
        r#"{
  "policy": "P",
  "version": "1",
  "limits": {
    "a": {"per": ["acount"], "rate": "1/s"},
    "é": {"per": ["address"], "rate": 5, "brust": 5}
  },
  "store": {"redis": {"cluster": "r"}},
  "policy": "q"
}"#,
    );
    assert_eq!(status, 1);
    let found: Vec<_> = findings
        .iter()
        .map(|f| {
            let place = (f["line"].as_u64().unwrap(), f["column"].as_u64().unwrap());
            (
                place,
                f["path"].as_str().unwrap(),
                f["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ((2, 3), "$.policy", "mistake"),
            ((5, 19), "$.limits.a.per[0]", "mistake"),
            ((6, 5), "$.limits[\"é\"]", "mistake"),
            ((6, 31), "$.limits[\"é\"].rate", "mistake"),
            // A column is a character, not a byte.
            ((6, 42), "$.limits[\"é\"].brust", "mistake"),
            ((8, 3), "$.store", "mistake"),
            // Of a key that stands twice, the second one.
            ((9, 3), "$.policy", "mistake"),
        ]
    );
    assert_eq!(
        findings[4]["message"],
        "unknown key `brust`; did you mean `burst`?"
    );
    assert_eq!(findings[0]["file"], "p.json");
}

#[test]
fn text_that_is_no_json_is_told_where_it_ends_to_be() {
    let (status, findings) = lint("{\n  \"policy\": \"p\",\n  \"version\": \"1\",\n}");
    assert_eq!(status, 1);
    assert_eq!(
        findings,
        [
            json!({"file": "p.json", "line": 4, "column": 1, "path": "$", "kind": "mistake",
                "message": "cannot be read as JSON: trailing comma"})
        ]
    );
    let (_, findings) = lint("");
    assert_eq!(findings[0]["line"], 1);
    assert_eq!(findings[0]["column"], 1);
}

#[test]
fn exit_statuses_tell_mistakes_warnings_and_what_cannot_be_read() {
    let ran = run(&["lint", "policies/plans"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let ran = run(&["lint", "policies/plans/doubt", "policies/plans"]);
    assert_eq!(
        (ran.status, ran.err.as_str()),
        (3, "2 warnings in 2 files\n")
    );
    let ran = run(&["lint", "policies/plans/doubt", "policies/plans/mistake"]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.err, "1 mistake and 2 warnings in 2 files\n");
    assert_eq!(ran.out.lines().count(), 3);
    let ran = run(&["lint", "policies/none-such"]);
    assert_eq!(ran.status, 4);
    assert!(
        ran.err
            .starts_with("error: `policies/none-such` cannot be read"),
        "{}",
        ran.err
    );
    assert_eq!(run(&["lint"]).status, 2);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let ran = run_in(folder.path(), &["lint", "m.wasm"]);
    assert_eq!(ran.status, 4, "{}", ran.err);
    assert!(
        ran.err.contains("`m.wasm`: it was not packed"),
        "{}",
        ran.err
    );
}

#[test]
fn a_route_that_no_request_reaches() {
    let routes = |routes: Value| warnings(json!({"routes": routes}));
    assert_eq!(
        routes(json!([
            {"name": "all", "match": {"path": "/v1/*"}},
            {"name": "one", "match": {"methods": ["POST"], "path": "/v1/orders/{id}", "host": "a.test"}}
        ])),
        [
            "$.routes[1] no request reaches `one`: `all`, which stands before it, takes all of its requests; put `one` first, or take it out"
        ]
    );
    // Two routes together.
    assert_eq!(
        routes(json!([
            {"name": "reads", "match": {"methods": ["GET"], "path": "/a/*"}},
            {"name": "writes", "match": {"methods": ["POST"], "path": "/a/*"}},
            {"name": "both", "match": {"methods": ["GET", "POST"], "path": "/a/b"}},
            {"name": "more", "match": {"methods": ["GET", "PUT"], "path": "/a/b"}}
        ])),
        [
            "$.routes[2] no request reaches `both`: `reads` and `writes`, which stand before it, take all of its requests; put `both` first, or take it out"
        ]
    );
    assert_eq!(
        routes(json!([
            {"name": "host", "match": {"path": "/a/*", "host": "a.test"}},
            {"name": "other", "match": {"path": "/a/b"}}
        ])),
        Vec::<String>::new()
    );
}

#[test]
fn a_limit_that_nothing_uses() {
    assert_eq!(
        warnings(json!({"limits": {
            "used": {"per": ["account"], "rate": "1/s"}, "own": {"per": ["account"], "rate": "1/s"},
            "left": {"per": ["account"], "rate": "1/s"}},
            "always": ["used"], "routes": [{"name": "r", "limits": ["own"]}]})),
        [
            "$.limits.left nothing is limited by `left`; name it in `always` or in the `limits` of a route, or take it out"
        ]
    );
}

#[test]
fn a_limit_of_which_all_strangers_share_a_bucket() {
    let told = |otherwise: &str, per: &[&str], anonymous: &str| {
        warnings(json!({
            "limits": {"own": {"per": per, "otherwise": otherwise, "rate": "1/s"}},
            "routes": [{"name": "r", "limits": ["own"], "anonymous": anonymous}],
        }))
    };
    for otherwise in ["route", "method", "host"] {
        assert_eq!(
            told(otherwise, &["account"], "address"),
            [format!(
                "$.limits.own.otherwise `{otherwise}` is the same for all strangers, who so share one bucket of `own`, and one of them can use it up; write `address`"
            )]
        );
    }
    // Who is nobody is refused, is told apart by the address, or cannot be.
    for (otherwise, per, anonymous) in [
        ("route", &["account"][..], "deny"),
        ("route", &["account", "address"], "address"),
        ("host", &["route"], "address"),
        ("address", &["account"], "address"),
    ] {
        assert_eq!(told(otherwise, per, anonymous), Vec::<String>::new());
    }
}

/// The warnings about a ceiling and a narrower limit, both on every request.
fn ceiling(ceiling: Value, account: Value) -> Vec<String> {
    warnings(
        json!({"limits": {"ceiling": ceiling, "account": account}, "always": ["ceiling", "account"]}),
    )
}

#[test]
fn a_ceiling_below_one_accounts_rate() {
    let account = json!({"per": ["tenant", "account"], "rate": "60/min", "burst": 10});
    let tenant = |rate: &str, burst: u64| json!({"per": ["tenant"], "rate": rate, "burst": burst});
    assert_eq!(
        ceiling(tenant("59/min", 10), account.clone()),
        [
            "$.limits.ceiling the rate is below that of the narrower `account`: one bucket per tenant, account (60/min, burst 10) can use up the one per tenant (59/min, burst 10) that others share; raise the rate of `ceiling`, or lower the rate of `account`"
        ]
    );
    // Whatever the units.
    assert_eq!(
        ceiling(tenant("1/s", 10), account.clone()),
        Vec::<String>::new()
    );
    assert_eq!(ceiling(tenant("3600/h", 9), account).len(), 1);
    // An account is of one tenant, whether or not its limit names it.
    let bare = json!({"per": ["account"], "rate": "60/min", "burst": 10});
    assert_eq!(ceiling(tenant("30/min", 10), bare).len(), 1);
    // Who has another dimension is no part of it.
    let address = json!({"per": ["address"], "rate": "60/min", "burst": 10});
    assert_eq!(ceiling(tenant("30/min", 10), address), Vec::<String>::new());
    let shadow = json!({"per": ["account"], "rate": "60/min", "burst": 10, "shadow": true});
    assert_eq!(ceiling(tenant("30/min", 10), shadow), Vec::<String>::new());
}

#[test]
fn a_ceiling_below_a_plan_or_an_agreement() {
    let found = ceiling(
        json!({"per": ["tenant"], "rate": "100/s", "burst": 100,
               "overrides": {"tenant": {"small": {"rate": "1/min", "burst": 1}}}}),
        json!({"per": ["tenant", "account"], "rate": "60/min", "burst": 10,
               "plans": {"paid": {"rate": "200/s", "burst": 10}, "free": {"rate": "1/min"}},
               "overrides": {"account": {"importer": {"rate": "1/s", "burst": 500}}}}),
    );
    let places: Vec<_> = found.iter().map(|w| w.split(' ').next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "$.limits.ceiling",
            "$.limits.ceiling",
            "$.limits.ceiling.overrides.tenant.small"
        ]
    );
    assert!(
        found[0].contains("`account` on the plan `paid`"),
        "{}",
        found[0]
    );
    assert!(
        found[1].contains("`account` of the account `importer`"),
        "{}",
        found[1]
    );
    assert!(found[2].contains("of the tenant `small`"), "{}", found[2]);
}

#[test]
fn a_limit_of_one_route_is_no_ceiling_of_another() {
    assert_eq!(
        warnings(json!({"limits": {
            "tenant": {"per": ["tenant"], "rate": "1/min"}, "account": {"per": ["account"], "rate": "60/min"}},
            "routes": [
                {"name": "a", "match": {"path": "/a"}, "limits": ["tenant"]},
                {"name": "b", "match": {"path": "/b"}, "limits": ["account"]}]})),
        Vec::<String>::new()
    );
}

#[test]
fn an_always_limit_after_a_narrower_one() {
    let limits = json!({"tenant": {"per": ["tenant"], "rate": "100/s"},
                        "account": {"per": ["tenant", "account"], "rate": "1/s"}});
    assert_eq!(
        warnings(json!({"limits": limits, "always": ["account", "tenant"]})),
        [
            "$.always[1] `tenant` (per tenant) stands behind the narrower `account` (per tenant, account), which is then told of as the one that refuses; put `tenant` before it"
        ]
    );
    assert_eq!(
        warnings(json!({"limits": limits, "always": ["tenant", "account"]})),
        Vec::<String>::new()
    );
}

#[test]
fn a_scope_that_leaves_out_a_dimension() {
    let found = warnings(json!({
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "routes": [{"name": "r", "match": {"path": "/r"}, "cache": {"scope": ["tenant"]}}]}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("$.routes[0].cache.scope `account` is left out"),
        "{found:?}"
    );
}

#[test]
fn a_canary_that_has_caches() {
    let found = warnings(json!({
        "canary": {"percent": 5},
        "identity": {"account": [{"header": "x-account"}]},
        "routes": [
            {"name": "r", "match": {"path": "/r"}, "cache": {"scope": ["account"]}},
            {"name": "s", "match": {"path": "/s"}}]}));
    assert_eq!(
        found,
        [
            "$.routes[0].cache a canary leaves caches alone, so this is not in effect; mount the canary before the policy in force, or leave out `canary`"
        ]
    );
}

#[test]
fn a_canary_that_is_everybody() {
    let found = warnings(json!({
        "canary": {"percent": 100},
        "identity": {"account": [{"header": "x-account"}]},
        "routes": [{"name": "r", "match": {"path": "/r"}, "cache": {"scope": ["account"]}}]}));
    assert_eq!(
        found,
        [
            "$.canary.percent a canary of 100 is enforced for everybody, and still leaves caches alone and makes no call detached; remove `canary`"
        ]
    );
}
