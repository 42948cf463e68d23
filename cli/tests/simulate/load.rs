//! Generated loads: what they say, what is wrong with them, and as logs.

use std::fs;

use crate::run::{BY_ACCOUNT, BY_ADDRESS, at, folder, report, said, simulate};

#[test]
fn a_load_is_the_same_each_time_and_as_a_log() {
    let files = folder(&[("policy.json", BY_ACCOUNT)]);
    let (policy, log) = (at(&files, "policy.json"), at(&files, "load.ndjson"));
    let load = r#"{"seed": 3, "groups": [
        {"callers": 20, "account": "caller \"{n}\"", "pick": "skewed", "arrivals": "random", "rate": [{"for": "2m", "at": "10/s"}]},
        {"callers": 5, "account": "burst-{n}", "pick": "random", "rate": [{"for": "2m", "burst": 7, "every": "10s"}]},
        {"address": "2001:db8::/32", "callers": 3, "rate": [{"for": "1m", "at": "60/min"}, {"for": "1m", "from": "60/min", "to": "0/s"}]}
    ]}"#;
    let one = report(&[&policy, "--load", load, "--emit-log", &log]);
    let two = report(&[&policy, "--load", load]);
    assert_eq!(one, two);
    let again = report(&[&policy, "--log", &log]);
    for part in [
        "totals", "rules", "routes", "top", "limits", "timeline", "callers",
    ] {
        assert_eq!(one[part], again[part], "{part}");
    }
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.lines()
            .next()
            .unwrap()
            .starts_with(r#"{"time":"2026-01-01T00:00:00.0"#),
        "{text:.200}"
    );
    let other = report(&[
        &policy,
        "--load",
        &load.replace("\"seed\": 3", "\"seed\": 4"),
    ]);
    assert_ne!(one["totals"], other["totals"]);
}

#[test]
fn several_loads_run_side_by_side() {
    let files = folder(&[("policy.json", BY_ADDRESS)]);
    let load = |address: &str| {
        format!(
            r#"{{"groups": [{{"address": "{address}", "rate": [{{"for": "1s", "total": 3}}]}}]}}"#
        )
    };
    let found = report(&[
        &at(&files, "policy.json"),
        "--load",
        &load("192.0.2.1"),
        "--load",
        &load("192.0.2.2"),
    ]);
    assert_eq!(
        (
            found["totals"]["requests"].as_u64(),
            found["totals"]["refused"].as_u64()
        ),
        (Some(6), Some(2))
    );
}

#[test]
fn what_is_wrong_with_a_load_is_said_with_its_place() {
    let files = folder(&[("policy.json", BY_ADDRESS)]);
    let policy = at(&files, "policy.json");
    for (load, message) in [
        (
            r#"{"groups": []}"#,
            "`groups` has to list 1 to 1000 groups of callers",
        ),
        (
            r#"{"groups": [{"rate": []}]}"#,
            "`groups[0]`: `rate` has to list 1 to 1000 phases",
        ),
        (
            r#"{"groups": [{"rate": [{"for": "1s"}]}]}"#,
            "`rate[0]`: write one of `at`, `from` with `to`, `total`, or `burst` with `every`",
        ),
        (
            r#"{"groups": [{"rate": [{"for": "1s", "at": "1/s", "total": 3}]}]}"#,
            "write one of `at`",
        ),
        (
            r#"{"groups": [{"rate": [{"for": "1s", "at": "fast"}]}]}"#,
            "`fast` is not a rate; write a number and a unit, like `40/s`",
        ),
        (
            r#"{"groups": [{"rate": [{"for": "soon", "at": "1/s"}]}]}"#,
            "`soon` is not a time; write a number and a unit, like `90s`",
        ),
        (
            r#"{"groups": [{"rate": [{"for": "1s", "at": "1/s", "swing": 2}]}]}"#,
            "`swing` is a share from 0 to 1",
        ),
        (
            r#"{"groups": [{"address": "here", "rate": [{"for": "1s", "at": "1/s"}]}]}"#,
            "`here` is not an address",
        ),
        (
            r#"{"groups": [{"callers": 0, "rate": [{"for": "1s", "at": "1/s"}]}]}"#,
            "`callers` and `tenants` are at least 1",
        ),
        (
            r#"{"start": "noon", "groups": [{"rate": [{"for": "1s", "at": "1/s"}]}]}"#,
            "`noon` is not a time to start at",
        ),
        (r#"{"groups": [{"speed": 1}]}"#, "unknown field `speed`"),
        ("@no-such.json", "`no-such.json` cannot be read"),
    ] {
        let output = simulate(&[&policy, "--load", load]);
        assert_eq!(output.status.code(), Some(4), "{load}");
        assert!(said(&output).contains(message), "{load}: {}", said(&output));
    }
}

#[test]
fn parts_of_the_identity_are_found_wherever_the_policy_looks() {
    for source in [
        r#"{"jwt": "sub"}"#,
        r#"{"jwt": "user.id"}"#,
        r#"{"header": "x-account"}"#,
        r#"{"header": "x-key", "secret": true}"#,
        r#"{"cookie": "session"}"#,
        r#"{"query": "api_key"}"#,
        r#"{"san": "uri"}"#,
    ] {
        let policy = BY_ACCOUNT.replace(r#"{"header": "x-account"}"#, source);
        let files = folder(&[("policy.json", &policy)]);
        let load = r#"{"groups": [{"callers": 4, "account": "spiffe://a/{n}?&=", "address": "192.0.2.1", "rate": [{"for": "1s", "total": 12}]}]}"#;
        let found = report(&[&at(&files, "policy.json"), "--load", load]);
        assert_eq!(found["notes"], serde_json::json!([]), "{source}");
        assert_eq!(found["callers"]["seen"], 4, "{source}");
        // Each of the four has two, and the third is refused.
        assert_eq!(found["totals"]["refused"], 4, "{source}");
        let name = found["top"][0]["caller"]["account"].as_str().unwrap();
        assert_eq!(
            name.starts_with("sha256:"),
            source.contains("secret"),
            "{source}: {name}"
        );
    }
}
