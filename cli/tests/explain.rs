//! `tidegate explain`, as a process.
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

fn explain(arguments: &[&str]) -> Value {
    let all = [&["explain", "--format", "json"], arguments].concat();
    let ran = run(&all);
    assert_eq!(ran.status, 0, "{}", ran.err);
    ran.json()
}

const CLAIMS: &str =
    r#"{"iss": "https://idp.test", "sub": "ann", "tenant_id": "big-co", "plan": "paid"}"#;

#[test]
fn every_step_of_a_refusal() {
    let export = [
        "policies/plans",
        "-r",
        "POST /reports/7/export",
        "-H",
        "X-Report-Pages: 3",
        "--claims",
        CLAIMS,
        "--after",
        "2",
    ];
    let found = explain(&export);
    assert_eq!(
        found["who"]["account"],
        json!({"value": "ann", "source": "jwt sub", "issuer": "https://idp.test"})
    );
    assert_eq!(found["who"]["address"], json!({"value": "192.0.2.1"}));
    assert_eq!(
        found["routes"],
        json!([{"name": "health", "missed": "method"}, {"name": "exports", "missed": null}])
    );
    assert_eq!(found["route"], "exports");
    assert_eq!(
        found["cost"],
        json!({"units": 3, "header": "x-report-pages"})
    );
    let limits = found["limits"].as_array().unwrap();
    assert_eq!(
        limits[1],
        json!({"name": "account", "always": true, "shadow": false,
            "key": [{"dimension": "tenant", "value": "big-co"}, {"dimension": "account", "value": "ann"}],
            "quota": {"rate": "600/min", "burst": 10, "from": "tenant big-co"},
            "said": "room", "before": 4, "left": 4})
    );
    assert_eq!(limits[2]["name"], "exports");
    assert_eq!(limits[2]["always"], false);
    assert_eq!(limits[2]["said"], json!({"wait_ms": 1_800_000}));
    let answer = &found["answer"];
    assert_eq!(
        (
            answer["by"].as_str(),
            answer["status"].as_u64(),
            answer["rule"].as_str()
        ),
        (Some("gate"), Some(429), Some("exports"))
    );
    assert!(
        answer["headers"]
            .as_array()
            .unwrap()
            .contains(&json!(["retry-after", "1800"]))
    );
    assert_eq!(answer["problem"]["violated-policies"], json!(["exports"]));
    // Half an hour later there is room again.
    let later = explain(&[&export[..], &["--at", "30min"]].concat());
    assert_eq!(later["answer"]["by"], "origin");
    assert_eq!(later["limits"][2]["before"], 3);
    assert_eq!(later["limits"][2]["left"], 0);
}

#[test]
fn whose_numbers_a_bucket_has() {
    let from = |claims: &str| {
        let found = explain(&["policies/plans", "-r", "/a", "--claims", claims]);
        found["limits"][1]["quota"]["from"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(from(r#"{"sub": "a", "tenant_id": "t"}"#), "limit");
    assert_eq!(
        from(r#"{"sub": "a", "tenant_id": "t", "plan": "paid"}"#),
        "plan paid"
    );
    assert_eq!(from(CLAIMS), "tenant big-co");
}

#[test]
fn what_stands_in_for_an_absent_account() {
    let found = explain(&["policies/guests", "-r", "/a", "--address", "2001:db8::7"]);
    assert_eq!(
        found["who"]["account"],
        json!({"value": null, "absent": ["header x-api-key", "cookie session"]})
    );
    assert_eq!(
        found["limits"][0]["key"],
        json!([{"dimension": "account", "value": null, "instead": {"dimension": "address", "value": "2001:db8::/64"}}])
    );
    let found = explain(&["policies/guests", "-r", "POST /accounts"]);
    assert_eq!(found["limits"][0]["said"], "left_out");
    let found = explain(&["policies/plans", "-r", "/a"]);
    assert_eq!(found["answer"]["rule"], "identity-required");
    assert_eq!(found["limits"][0]["said"], "not_asked");
}

#[test]
fn a_secret_is_shown_by_its_digest_alone() {
    let ran = run(&[
        "explain",
        "policies/guests",
        "-r",
        "/a?q=1",
        "-H",
        "x-api-key: very-secret",
    ]);
    assert_eq!(ran.status, 0);
    assert!(ran.out.contains("sha256:"), "{}", ran.out);
    assert!(!ran.out.contains("very-secret"), "{}", ran.out);
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"{"policy": "p", "version": "1", "identity": {"account": [{"query": "key", "secret": true}]},
        "limits": {"a": {"per": ["header:x-api-key"], "rate": "1/s"}}, "always": ["a"],
        "routes": [{"name": "r", "cache": {"scope": ["account"]}}]}"#;
    let header = policy.replace(
        "[{\"query\"",
        "[{\"header\": \"x-api-key\", \"secret\": true}, {\"query\"",
    );
    fs::write(folder.path().join("policy.json"), header).unwrap();
    for format in ["text", "json"] {
        let arguments = [
            "explain",
            ".",
            "-r",
            "/a?key=very-secret",
            "--format",
            format,
        ];
        let ran = run_in(folder.path(), &arguments);
        assert!(!ran.out.contains("very-secret"), "{}", ran.out);
        assert!(ran.out.contains("sha256:"), "{}", ran.out);
        let ran = run_in(
            folder.path(),
            &[&arguments[..], &["-H", "x-api-key: very-secret"]].concat(),
        );
        assert!(!ran.out.contains("very-secret"), "{}", ran.out);
    }
}

#[test]
fn a_request_that_is_made_once() {
    let charge = [
        "policies/safe-retries",
        "-r",
        "POST /v1/charges",
        "-H",
        "Idempotency-Key: c-1",
        "--claims",
        CLAIMS,
        "--body",
        "{}",
    ];
    let first = explain(&charge);
    let record = &first["record"];
    assert_eq!(
        record["key"],
        json!([
            ["tenant", "big-co"],
            ["account", "ann"],
            ["host", "api.test"],
            ["path", "/v1/charges"],
            ["method", "POST"],
            ["key", "c-1"]
        ])
    );
    assert_eq!(
        (record["turn"].as_str(), record["detached"].as_bool()),
        (Some("runs"), Some(true))
    );
    assert_eq!(record["fingerprint_digest"].as_str().unwrap().len(), 64);
    assert_eq!(first["answer"]["by"], "origin");
    let again = explain(&[&charge[..], &["--after", "1", "--status", "201"]].concat());
    assert_eq!(again["record"]["turn"], "replayed");
    assert_eq!(
        again["record"]["fingerprint_digest"],
        record["fingerprint_digest"]
    );
    assert_eq!(
        (
            again["answer"]["by"].as_str(),
            again["answer"]["status"].as_u64()
        ),
        (Some("record"), Some(201))
    );
    assert_eq!(again["limits"][0]["said"], "not_asked");
    let event = explain(&[
        "policies/webhooks",
        "-r",
        "POST /hooks/orders/a",
        "-H",
        "x-tenant-id: t",
        "-H",
        "x-source-token: s",
        "--body",
        r#"{"event": {"id": 7}}"#,
    ]);
    let key = event["record"]["key"].as_array().unwrap();
    assert!(key.contains(&json!(["json /event/id", "7"])), "{key:?}");
}

#[test]
fn whose_copy_a_request_may_see() {
    let found = explain(&[
        "policies/tenant-cache",
        "-r",
        "/search?q=1",
        "--claims",
        CLAIMS,
    ]);
    let copy = &found["copy"];
    assert_eq!(copy["cache"], "scoped");
    assert_eq!(
        copy["scope"],
        json!([{"dimension": "tenant", "value": "big-co"}, {"dimension": "account", "value": "ann"}])
    );
    assert!(
        copy["path"]
            .as_str()
            .unwrap()
            .starts_with("/search?q=1&__tidegate=")
    );
    let reason = |request: &str| {
        explain(&["policies/tenant-cache", "-r", request])["copy"]["reason"].clone()
    };
    assert_eq!(reason("/search"), "`tenant` is absent");
    assert_eq!(reason("/other"), "the route says nothing of copies");
    assert_eq!(
        reason("/catalogue/..;/x"),
        "its path may be read as another one"
    );
}

#[test]
fn a_request_is_typed_or_given_as_a_case_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"{"policy": "p", "version": "1", "routes": [{"name": "r", "match": {"methods": ["PUT"], "path": "/x", "host": "a.test", "headers": {"x-a": "1"}}}]}"#;
    fs::write(folder.path().join("policy.json"), policy).unwrap();
    let request =
        r#"{"method": "PUT", "path": "/x", "host": "A.test:8080", "headers": [["x-a", "1"]]}"#;
    fs::write(folder.path().join("r.json"), request).unwrap();
    for arguments in [
        &["-r", request][..],
        &["-r", "@r.json"],
        &["-r", "PUT /x", "--host", "a.test", "-H", "X-A:1"],
        &[
            "-r",
            r#"{"method": "PUT"}"#,
            "-r",
            "PUT /./x",
            "--host",
            "a.test",
            "-H",
            "x-a: 1",
        ][2..],
    ] {
        let all = [&["explain", "policy.json", "--format", "json"], arguments].concat();
        let ran = run_in(folder.path(), &all);
        assert_eq!(ran.json()["route"], "r", "{arguments:?}");
    }
    let ran = run_in(
        folder.path(),
        &[
            "explain",
            "policy.json",
            "-r",
            "PUT /x",
            "--host",
            "a.test",
            "--format",
            "json",
        ],
    );
    assert_eq!(ran.json()["routes"][0]["missed"], json!({"header": "x-a"}));
    for (arguments, message) in [
        (&["-r", "x"][..], "`x` is not a request"),
        (&["-r", "{"], "`--request` is not JSON"),
        (&["-r", r#"{"pth": "/"}"#], "unknown field `pth`"),
        (&["-r", "@none"], "`none` cannot be read"),
        (&["--claims", "[]"], "`--claims` is not an object"),
        (&["-H", "x"], "`x` is not a header line"),
    ] {
        let ran = run_in(
            folder.path(),
            &[&["explain", "policy.json"], arguments].concat(),
        );
        assert_eq!(ran.status, 4, "{arguments:?}");
        assert!(ran.err.contains(message), "{}", ran.err);
    }
    let ran = run(&["explain", "policies/plans/mistake"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("`plan` is never known"), "{}", ran.err);
}

#[test]
fn a_canary_says_whether_the_caller_is_in_its_share() {
    let policy = "filters/core/tests/table/canary";
    for (account, inside, mode) in [("amy", true, "enforce"), ("ben", false, "shadow")] {
        let header = format!("x-account: {account}");
        let found = explain(&[policy, "-r", "GET /", "-H", &header]);
        assert_eq!(
            found["canary"],
            json!({"percent": 30, "by": ["account"], "inside": inside})
        );
        assert_eq!(found["mode"], mode);
        let ran = run(&["explain", policy, "-r", "GET /", "-H", &header]);
        let place = if inside { "inside" } else { "outside" };
        let told = format!("{place} the share");
        assert!(ran.out.contains(&told), "{}", ran.out);
    }
    assert_eq!(
        explain(&["policies/plans", "-r", "GET /"]).get("canary"),
        None
    );
}
