//! `tidegate test`, as a process.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use common::{root, run, run_in, write};
use serde_json::json;

const POLICY: &str = r#"{"policy": "p", "version": "1", "identity": {"account": [{"header": "x-account"}]},
    "limits": {"calls": {"per": ["account"], "rate": "1/min", "burst": 2}}, "always": ["calls"]}"#;

/// Two requests go ahead and the third does not, which is expected to end with this status.
fn cases(third: u16) -> String {
    let request = json!({"path": "/a", "headers": [["x-account", "ann"]]});
    json!({"cases": [
        {"name": "two calls", "steps": [
            {"request": request, "times": 2, "expect": {"status": 200}},
            {"at_ms": 500, "request": request, "expect": {"status": third}}
        ]},
        {"name": "one call", "steps": [{"request": request, "expect": {"status": 200, "remaining": [["calls", 1]]}}]}
    ]})
    .to_string()
}

#[test]
fn every_policy_has_cases_and_they_pass() {
    let ran = run(&["test", "policies", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    let report = ran.json();
    assert_eq!(report["failed"], 0);
    for entry in fs::read_dir(root().join("policies")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            let name = format!("policies/{}", entry.file_name().to_str().unwrap());
            let cases = report["cases"].as_array().unwrap();
            assert!(cases.iter().any(|case| case["folder"] == *name), "{name}");
        }
    }
}

#[test]
fn it_prints_like_cargo_test() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a"), POLICY, Some(&cases(429)));
    write(&folder.path().join("b/c"), POLICY, Some(&cases(429)));
    // Neither of these is a folder of its author's.
    write(&folder.path().join(".git"), POLICY, Some(&cases(200)));
    write(&folder.path().join("target"), POLICY, Some(&cases(200)));
    write(&folder.path().join("no-cases"), POLICY, None);
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(
        ran.out,
        "\nrunning 4 cases\n\
         test a: two calls ... ok\n\
         test a: one call ... ok\n\
         test b/c: two calls ... ok\n\
         test b/c: one call ... ok\n\
         \ntest result: ok. 4 passed; 0 failed; 0 filtered out; 8 requests\n"
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let ran = run_in(folder.path(), &["test", "b", "--filter", "c: one"]);
    assert_eq!(
        ran.out,
        "\nrunning 1 case\ntest b/c: one call ... ok\n\
         \ntest result: ok. 1 passed; 0 failed; 1 filtered out; 1 request\n"
    );
}

#[test]
fn a_failure_says_which_step_and_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), POLICY, Some(&cases(200)));
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.out,
        "\nrunning 2 cases\n\
         test .: two calls ... FAILED\n\
         test .: one call ... ok\n\
         \nfailures:\n\
         \n---- .: two calls ----\n\
         step 2, time 1, at 500 ms: GET /a\n\
         \x20 status: expected 200, found 429\n\
         \x20 type: found \"https://iana.org/assignments/http-problem-types#quota-exceeded\"\n\
         \x20 violated: found [\"calls\"]\n\
         \ntest result: FAILED. 1 passed; 1 failed; 0 filtered out; 4 requests\n"
    );
    let report = run_in(folder.path(), &["test", "--format", "json"]).json();
    let failure = &report["cases"][0]["failures"][0];
    assert_eq!(failure["step"], 2);
    assert_eq!(failure["at_ms"], 500);
    assert_eq!(failure["expected"], json!({"status": 200}));
    assert_eq!(failure["found"]["retry_after"], 60);
}

#[test]
fn a_case_sees_why_and_how_far_a_request_came() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"{"policy": "p", "version": "1", "identity": {"account": [{"header": "x-account"}]},
        "limits": {"calls": {"per": ["account"], "rate": "1/min", "burst": 1}},
        "routes": [
          {"name": "pay", "match": {"methods": ["POST"], "path": "/pay"}, "idempotency": {"key": "required"}},
          {"name": "tried", "match": {"path": "/tried"}, "mode": "shadow", "limits": ["calls"]}]}"#;
    let pay = json!({"method": "POST", "path": "/pay", "headers": [["x-account", "a"], ["idempotency-key", "k"]]});
    let tried = json!({"path": "/tried", "headers": [["x-account", "a"]]});
    let cases = |reached: bool| {
        json!({"cases": [{"name": "c", "steps": [
            {"request": pay, "answer": {"status": 201}, "expect": {"status": 201, "replayed": false, "reached": true, "route": "pay"}},
            {"request": pay, "expect": {"status": 201, "replayed": true, "reached": reached, "route": "pay"}},
            {"request": tried, "expect": {"status": 200, "shadow": "none"}},
            {"request": tried, "expect": {"status": 200, "reached": true, "shadow": "calls"}},
            {"request": {"path": "/else"}, "expect": {"status": 200, "route": "none"}}
        ]}]})
        .to_string()
    };
    write(folder.path(), policy, Some(&cases(false)));
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    write(folder.path(), policy, Some(&cases(true)));
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.out.contains("  reached: expected true, found false\n"),
        "{}",
        ran.out
    );
}

#[test]
fn it_fails_when_nothing_ran() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("nothing ran"), "{}", ran.err);
    write(folder.path(), POLICY, Some(&cases(429)));
    assert_eq!(
        run_in(folder.path(), &["test", "--filter", "no such"]).status,
        1
    );
    assert_eq!(run_in(folder.path(), &["test", "none-such"]).status, 4);
}

#[test]
fn what_cannot_be_run_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder.path().join("bad"),
        &POLICY.replace("1/min", "1/minute"),
        Some(&cases(429)),
    );
    write(
        &folder.path().join("odd"),
        POLICY,
        Some(r#"{"cases": [{"name": "c", "stps": []}]}"#),
    );
    write(
        &folder.path().join("none"),
        POLICY,
        Some(r#"{"cases": []}"#),
    );
    fs::create_dir(folder.path().join("alone")).unwrap();
    fs::write(folder.path().join("alone/policy.test.json"), cases(429)).unwrap();
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 1);
    for part in [
        "test bad ... FAILED\n",
        "bad/policy.json:2:46: `$.limits.calls.rate`: `1/minute` is not a rate",
        "`alone/policy.json` cannot be read",
        "`odd/policy.test.json`: unknown field `stps`",
        "`none/policy.test.json`: there is nothing to run",
        "test result: FAILED. 0 passed; 4 failed; 0 filtered out; 0 requests\n",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn watching_runs_again_when_a_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), POLICY, Some(&cases(200)));
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["test", "--watch"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut summary = || {
        lines
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.starts_with("test result"))
            .unwrap()
    };
    assert!(summary().starts_with("test result: FAILED. 1 passed; 1 failed"));
    write(folder.path(), POLICY, Some(&cases(429)));
    // A file that was read half written gives one run more.
    let mut last = summary();
    while !last.starts_with("test result: ok. 2 passed") {
        last = summary();
    }
    write(
        folder.path(),
        &POLICY.replace("\"burst\": 2", "\"burst\": 20"),
        None,
    );
    while !last.contains("FAILED") {
        last = summary();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_step_that_would_never_run_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let never = cases(429).replace("\"times\":2", "\"times\":0");
    write(folder.path(), POLICY, Some(&never));
    let ran = run_in(folder.path(), &["test", "."]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("integer `0`"), "{ran:?}");
}
