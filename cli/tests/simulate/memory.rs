//! Memory is bounded by tables, whatever is simulated.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{BY_ACCOUNT, BY_ADDRESS, at, folder, repo, report};

/// So many requests, each from an address of its own.
fn load(callers: u32) -> String {
    format!(
        r#"{{"groups": [{{"callers": {callers}, "address": "10.0.0.0/8", "rate": [{{"for": "1h", "total": {callers}}}]}}]}}"#
    )
}

/// The most memory that a simulation held at a time, in kB.
fn peak(policy: &str, load: &str) -> u64 {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("tidegate"))
        .args(["simulate", policy, "--load", load])
        .current_dir(repo())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let held = line
            .and_then(|line| line.split_whitespace().next())
            .and_then(|kb| kb.parse().ok());
        peak = peak.max(held.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_callers() {
    // A rate at which nobody's bucket is ever idle again, so that tables fill.
    let policy = BY_ADDRESS.replace("60/min", "1/day");
    let files = folder(&[("policy.json", &policy)]);
    let policy = at(&files, "policy.json");
    let some = peak(&policy, &load(200_000));
    let many = peak(&policy, &load(800_000));
    assert!(
        some > 1_000 && many < some + some / 4,
        "{some} kB for 200,000 callers, {many} kB for 800,000"
    );
}

#[test]
fn a_sample_says_that_it_is_one() {
    let files = folder(&[("policy.json", BY_ADDRESS)]);
    let found = report(&[&at(&files, "policy.json"), "--load", &load(300_000)]);
    assert_eq!(found["callers"]["exact"], false);
    let seen = found["callers"]["seen"].as_f64().unwrap();
    assert!((seen / 300_000.0 - 1.0).abs() < 0.05, "{seen}");
    let tier = &found["limits"][0]["tiers"][0];
    assert_eq!(tier["exact"], false);
    assert!((tier["buckets"].as_f64().unwrap() / 300_000.0 - 1.0).abs() < 0.1);
    assert_eq!(tier["smallest_burst"], 1);
}

#[test]
fn callers_beyond_those_who_are_remembered_keep_what_is_theirs() {
    let policy = BY_ACCOUNT.replace(
        r#""rate": "60/min", "burst": 2"#,
        r#""rate": "1/day", "burst": 2, "max_keys": 1000000"#,
    );
    let files = folder(&[("policy.json", &policy)]);
    // Each of them comes three times, with all the others in between, and has two.
    let load = r#"{"groups": [{"callers": 100000, "account": "account-{n}", "rate": [{"for": "1h", "total": 300000}]}]}"#;
    let found = report(&[&at(&files, "policy.json"), "--load", load]);
    assert_eq!(found["totals"]["requests"], 300_000);
    assert_eq!(found["totals"]["refused"], 100_000);
}
