//! Access logs: what is read of them, and what is said of what cannot be.

use std::fmt::Write as _;

use serde_json::json;

use crate::run::{
    BY_ACCOUNT, BY_ADDRESS, at, folder, limit, printed, report, rule, said, simulate, tidegate,
};

/// A line as `envoy/gate.yaml` has it written, at so many milliseconds.
fn line(millis: u64, client: &str, status: u16) -> String {
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let line = json!({
        "time": format!("2026-11-29T10:{minutes:02}:{seconds:02}.{millis:03}Z"),
        "request_id": "6b1c", "method": "GET", "path": "/things", "status": status,
        "details": "via_upstream", "duration_ms": 3, "client": client, "decision": null,
    });
    format!("{line}\n")
}

#[test]
fn envoys_log_as_shipped_is_read_as_it_is() {
    // Three at once, of which two are admitted; one a second comes back.
    let log: String = [0, 1, 2, 1_000, 1_001, 1_002]
        .map(|at| line(at, "192.0.2.1", 200))
        .concat();
    let files = folder(&[("policy.json", BY_ADDRESS), ("access.log", &log)]);
    let found = report(&[
        &at(&files, "policy.json"),
        "--log",
        &at(&files, "access.log"),
    ]);
    assert_eq!(found["totals"]["refused"], 3);
    assert_eq!(found["notes"], json!([]));
    let top = &found["top"][0];
    assert_eq!(top["caller"], json!({"address": "192.0.2.1"}));
    assert_eq!((&top["refused"], &top["requests"]), (&json!(3), &json!(4)));
    assert_eq!(top["first"], "2026-11-29T10:00:00.002Z");
    assert_eq!(top["last"], "2026-11-29T10:00:01.002Z");
    // The refusal at 1.001 and the one at 1.002 have nothing admitted between.
    assert_eq!(top["longest_seconds"], 0.001);
    let rule = rule(&found, "address");
    assert_eq!((&rule["asked"], &rule["refused"]), (&json!(6), &json!(3)));
    // Two and two within a second and a bit: 2 + 1 at once at most, and the third of each group is one too many.
    let tier = &found["limits"][0]["tiers"][0];
    assert_eq!(tier["smallest_burst"], 5);
}

#[test]
fn several_logs_and_standard_input_are_one_log() {
    let files = folder(&[
        ("policy.json", BY_ADDRESS),
        ("one.log", &line(0, "192.0.2.1", 200)),
        ("two.log", &line(10, "192.0.2.1", 200)),
    ]);
    let [policy, one, two] = ["policy.json", "one.log", "two.log"].map(|name| at(&files, name));
    let output = tidegate()
        .args([
            "--format", "json", "simulate", &policy, "--log", &one, &two, "-",
        ])
        .write_stdin(line(20, "192.0.2.1", 200))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["totals"]["requests"], &found["totals"]["refused"]),
        (&json!(3), &json!(1))
    );
}

#[test]
fn fields_are_named_by_keys_and_by_pointers() {
    let mut log = String::new();
    for at in 0..4 {
        let line = json!({"ts": 1_764_410_400_000_u64 + at, "who": {"id": "bob"}, "http": {"verb": "POST"}, "uri": "/a", "ip": "10.0.0.1:4711"});
        writeln!(log, "{line}").unwrap();
    }
    let files = folder(&[("policy.json", BY_ACCOUNT), ("log", &log)]);
    let (policy, log) = (at(&files, "policy.json"), at(&files, "log"));
    let fields = [
        "--field",
        "time=ts",
        "--field",
        "account=/who/id",
        "--field",
        "method=/http/verb",
        "--field",
        "path=uri",
        "--field",
        "address=ip",
    ];
    let found = report(&[&[policy.as_str(), "--log", &log][..], &fields].concat());
    assert_eq!(found["top"][0]["caller"]["account"], "bob");
    assert_eq!(found["totals"]["refused"], 2);
    // Without its name nothing has an account: the address stands in, and the report says so first.
    let found = report(
        &[&[
            policy.as_str(),
            "--log",
            &log,
            "--field",
            "time=ts",
            "--field",
            "address=ip",
        ][..]]
        .concat(),
    );
    assert_eq!(found["top"][0]["caller"], json!({"address": "10.0.0.1"}));
    let note = found["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with(
            "limit `account` goes by account, and the log never says which: `address` stood in."
        ),
        "{note}"
    );
    assert!(note.contains("account: \"%REQ(X-ACCOUNT)%\""), "{note}");
    for (fields, message) in [
        (&["--field", "who=me"][..], "`who` is not a name of a field"),
        (
            &["--field", "time"],
            "`time` is not a field; write `NAME=KEY`",
        ),
        (
            &["--field", "time=a", "--field", "time=b"],
            "`time` is given twice",
        ),
    ] {
        let output = simulate(&[&[policy.as_str(), "--log", &log][..], fields].concat());
        assert!(said(&output).contains(message), "{}", said(&output));
        assert_ne!(output.status.code(), Some(0));
    }
}

#[test]
fn what_requests_were_answered_then_is_compared() {
    // The limiter that ran then refused the second; this one refuses the third.
    let log: String = [(0, 200), (1, 429), (2, 200)]
        .map(|(at, status)| line(at, "192.0.2.1", status))
        .concat();
    let files = folder(&[("policy.json", BY_ADDRESS), ("access.log", &log)]);
    let found = report(&[
        &at(&files, "policy.json"),
        "--log",
        &at(&files, "access.log"),
    ]);
    let expected =
        json!({"known": 3, "refused": 1, "refused_both_times": 0, "refused_only_here": 1});
    assert_eq!(found["then"], expected);
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_shown_and_too_many_are_a_failure() {
    let good: String = (0..200)
        .map(|at| line(at * 2_000, "192.0.2.1", 200))
        .collect();
    let log = format!("{good}\nnot json\n{{\"time\": \"yesterday\"}}\n");
    let files = folder(&[("policy.json", BY_ADDRESS), ("access.log", &log)]);
    let (policy, log) = (at(&files, "policy.json"), at(&files, "access.log"));
    let found = report(&[&policy, "--log", &log]);
    let input = &found["input"];
    assert_eq!(
        (&input["lines"], &input["unreadable"]),
        (&json!(202), &json!(2))
    );
    let examples = input["unreadable_examples"].as_array().unwrap();
    assert_eq!(examples[0]["line"], 202);
    assert_eq!(examples[0]["reason"], "it is not a JSON object");
    assert_eq!(
        examples[1]["reason"],
        "its time is neither RFC 3339 nor a number since 1970"
    );
    let output = simulate(&[&policy, "--log", &log]);
    assert!(printed(&output).contains("2 of 202 lines could not be read"));

    let output = simulate(&[&policy, "--log", &log, "--unreadable", "0.5"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("2 of 202 lines could not be read, more than 0.5 %"));
    assert!(
        said(&output).contains("access.log:202: it is not a JSON object"),
        "{}",
        said(&output)
    );
    assert_eq!(printed(&output), "");

    // It ends alike where nothing can be said.
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut unheard = std::process::Command::new(tidegate().get_program());
    let arguments = ["simulate", &policy, "--log", &log, "--unreadable", "0.5"];
    let status = unheard.args(arguments).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn each_way_to_be_unreadable_has_its_reason() {
    let time = r#""time": "2026-11-29T10:00:00Z""#;
    for (line, reason) in [
        (r#"["a"]"#.to_owned(), "it is not a JSON object"),
        (
            format!("{{{time}, \"path\""),
            "it ends in the middle of its JSON object",
        ),
        (format!("{{{time}, \"path\" \"/\"}}"), "it is not JSON"),
        (
            format!("{{{time}, \"client\": {{\"a\": 1}}}}"),
            "`client` is an object; name a text in it, by a JSON pointer",
        ),
        (
            format!("{{{time}, \"client\": [1]}}"),
            "`client` is a list; name a text in it, by a JSON pointer",
        ),
        (
            r#"{"path": "/"}"#.to_owned(),
            "it has no `time` to tell the time by",
        ),
        (
            r#"{"time": "29/Nov/2026"}"#.to_owned(),
            "its time is neither RFC 3339 nor a number since 1970",
        ),
    ] {
        let files = folder(&[("policy.json", BY_ADDRESS), ("log", &line)]);
        let output = simulate(&[&at(&files, "policy.json"), "--log", &at(&files, "log")]);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(said(&output).contains(reason), "{line}: {}", said(&output));
    }
}

#[test]
fn requests_are_put_in_the_order_of_their_times_as_far_as_one_can_wait() {
    // The log is written when requests end: the first request of all stands last, and the second is refused or not by that.
    let within: String = [100, 1_500, 0]
        .map(|at| line(at, "192.0.2.1", 200))
        .concat();
    let files = folder(&[("policy.json", BY_ADDRESS), ("within", &within)]);
    let (policy, log) = (at(&files, "policy.json"), at(&files, "within"));
    let found = report(&[&policy, "--log", &log]);
    assert_eq!(found["input"]["first"], "2026-11-29T10:00:00.000Z");
    assert_eq!(found["input"]["late"], 0);
    let late = [&policy, "--log", &log, "--reorder", "1s"];
    let found = report(&[&late[..], &["--unreadable", "50"]].concat());
    assert_eq!(
        (&found["input"]["late"], &found["input"]["late_by_seconds"]),
        (&json!(1), &json!(0.1))
    );
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.contains("--reorder"), "{note}");
    // Too many, and what would be said is wrong.
    let output = simulate(&late);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("1 of 3 lines stand behind requests that came up to 100ms after them, more than 1 %; wait longer for them by `--reorder TIME`"),
        "{}",
        said(&output)
    );
}

/// Two days, and two Envoys of one day: in whichever order they are named, it is the same log.
#[test]
fn logs_are_played_side_by_side_in_the_order_of_their_times() {
    let log = |times: &[u64]| -> String {
        let lines = times.iter();
        lines.map(|at| line(*at, "192.0.2.1", 200)).collect()
    };
    // One a second, and a burst of two: side by side the third and the last come too early.
    let files = folder(&[
        ("policy.json", BY_ADDRESS),
        ("one", &log(&[0, 600, 100_000])),
        ("two", &log(&[300, 100_100, 100_200])),
        ("later", &log(&[200_000, 200_100])),
        ("empty", ""),
    ]);
    let at = |name| at(&files, name);
    let logs = [at("one"), at("two"), at("later"), at("empty")];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 3]] {
        let named = order.map(|index: usize| logs[index].as_str());
        let found = report(&[&[at("policy.json").as_str(), "--log"], &named[..]].concat());
        assert_eq!(
            (&found["totals"]["requests"], &found["totals"]["refused"]),
            (&json!(8), &json!(2)),
            "{order:?}"
        );
        assert_eq!(found["input"]["late"], 0);
        assert_eq!(found["input"]["first"], "2026-11-29T10:00:00.000Z");
    }
    // Put together into one file in the wrong order, they are not believed.
    let together = log(&[200_000, 300_000, 0, 600]);
    let files = folder(&[("policy.json", BY_ADDRESS), ("together", &together)]);
    let [policy, log] = ["policy.json", "together"].map(|name| crate::run::at(&files, name));
    let output = simulate(&[&policy, "--log", &log]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("name files that were put together one by one"),
        "{}",
        said(&output)
    );
    let output = simulate(&[&policy, "--log", "-", "-"]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("`-` is named 2 times"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_log() {
    let log = format!("\u{feff}{}", line(0, "192.0.2.1", 200));
    let files = folder(&[("policy.json", BY_ADDRESS), ("log", &log)]);
    let found = report(&[&at(&files, "policy.json"), "--log", &at(&files, "log")]);
    assert_eq!(
        (&found["input"]["unreadable"], &found["totals"]["requests"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn a_policy_with_mistakes_a_file_that_is_not_there_and_an_empty_log_are_told_apart() {
    let files = folder(&[
        ("good.json", BY_ADDRESS),
        (
            "bad.json",
            r#"{"policy": "p", "version": "1", "always": ["x"]}"#,
        ),
        ("empty", "\n"),
    ]);
    let [good, bad, empty] = ["good.json", "bad.json", "empty"].map(|name| at(&files, name));
    let output = simulate(&[&bad, "--log", &empty]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("$.always[0]"), "{}", said(&output));
    let output = simulate(&[&good, "--log", "no-such.log"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        said(&output).contains("`no-such.log` cannot be read"),
        "{}",
        said(&output)
    );
    let output = simulate(&[&good, "--log", &empty]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("there is no request in the log"),
        "{}",
        said(&output)
    );
    for arguments in [vec![&*good], vec![&*good, "--log", &empty, "--load", "{}"]] {
        assert_eq!(simulate(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_key_in_the_log_lets_what_was_done_already_be_simulated() {
    let policy = r#"{"policy": "once", "version": "1", "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["account"], "rate": "60/min", "burst": 2}}, "always": ["account"],
        "routes": [{"name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "idempotency": {"key": "required"}}]}"#;
    let mut log = String::new();
    for (at, key) in ["a", "a", "b", "a", "c"].iter().enumerate() {
        let line = json!({"time": 1_764_410_400_000_u64 + at as u64, "method": "POST", "path": "/charges", "account": "bob", "key": key});
        writeln!(log, "{line}").unwrap();
    }
    let files = folder(&[("policy.json", policy), ("log", &log)]);
    let (policy, log) = (at(&files, "policy.json"), at(&files, "log"));
    // Two of `a` again are replays and charged nothing; `a` and `b` take the burst, `c` is refused.
    let found = report(&[
        &policy,
        "--log",
        &log,
        "--field",
        "header:idempotency-key=key",
    ]);
    assert_eq!(
        (&found["totals"]["replayed"], &found["totals"]["refused"]),
        (&json!(2), &json!(1))
    );
    // Without the key all five are new, and the report says that.
    let found = report(&[&policy, "--log", &log]);
    assert_eq!(
        (&found["totals"]["replayed"], &found["totals"]["refused"]),
        (&json!(0), &json!(3))
    );
    assert!(
        found["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("what was done already is not simulated on route `charges`")
    );
}

#[test]
fn a_pipe_gets_neither_colour_nor_a_progress_bar() {
    let log: String = (0..5_000).map(|at| line(at, "192.0.2.1", 200)).collect();
    let files = folder(&[("policy.json", BY_ADDRESS), ("access.log", &log)]);
    let output = simulate(&[
        &at(&files, "policy.json"),
        "--log",
        &at(&files, "access.log"),
    ]);
    assert_eq!(said(&output), "");
    assert!(!printed(&output).contains('\u{1b}'));
    assert!(
        printed(&output).starts_with("`by-address` 1 would have refused "),
        "{}",
        printed(&output)
    );
}

#[test]
fn buckets_of_several_quotas_are_counted_apart() {
    const POLICY: &str = r#"{"policy": "plans", "version": "1",
        "identity": {"account": [{"header": "x-a"}], "plan": [{"header": "x-p"}]},
        "limits": {"account": {"per": ["account"], "rate": "60/min", "burst": 10,
            "plans": {"paid": {"rate": "6000/min", "burst": 20}}}}, "always": ["account"]}"#;
    let ask = |account: &str, plan: &str, at: u64| {
        let line =
            json!({"time": at, "account": account, "plan": plan, "path": "/", "method": "GET"});
        format!("{line}\n")
    };
    let mut log = String::new();
    log += &ask("amy", "free", 1_000);
    log += &ask("ben", "free", 1_000);
    // Amy has another plan an hour later, and sends more at once than that lets through.
    for _ in 0..50 {
        log += &ask("amy", "paid", 3_601_000);
    }
    let files = folder(&[("policy.json", POLICY), ("access.log", &log)]);
    let [policy, log] = ["policy.json", "access.log"].map(|name| at(&files, name));
    let fields = ["time", "account", "plan", "path", "method"].map(|name| format!("{name}={name}"));
    let mut arguments = vec![policy.as_str(), "--log", &log];
    for field in &fields {
        arguments.extend(["--field", field]);
    }
    let found = report(&arguments);
    assert_eq!(found["totals"]["refused"], 30);
    let account = limit(&found, "account");
    assert_eq!(account["mixed"], json!({"buckets": 1, "refused": 1}));
    // Ben's alone.
    let tiers = account["tiers"].as_array().unwrap();
    assert_eq!(tiers.len(), 1);
    assert_eq!(
        (&tiers[0]["rate"], &tiers[0]["buckets"]),
        (&json!("60/min"), &json!(1))
    );
    assert_eq!(
        (&tiers[0]["refused_buckets"], &tiers[0]["smallest_burst"]),
        (&json!(0), &json!(1))
    );
    let text = printed(&simulate(&arguments));
    assert!(
        text.contains(
            "buckets that callers of several quotas shared: 1, of which 1 refused something"
        ),
        "{text}"
    );
}

#[test]
fn a_burst_that_refused_nothing_is_never_called_too_small() {
    const POLICY: &str = r#"{"policy": "two", "version": "1",
        "limits": {"ceiling": {"per": ["route"], "rate": "60/min", "burst": 3},
            "address": {"per": ["address"], "rate": "60/min", "burst": 2}},
        "always": ["ceiling", "address"]}"#;
    let log: String = (0..20).map(|at| line(at, "192.0.2.1", 200)).collect();
    let files = folder(&[("policy.json", POLICY), ("access.log", &log)]);
    let found = report(&[
        &at(&files, "policy.json"),
        "--log",
        &at(&files, "access.log"),
    ]);
    assert_eq!(found["totals"]["refused"], 18);
    let ceiling = &limit(&found, "ceiling")["tiers"][0];
    assert_eq!(
        (&ceiling["refused_buckets"], &ceiling["smallest_burst"]),
        (&json!(0), &json!(3))
    );
    // And a log is written of a load alone.
    let log = at(&files, "access.log");
    let output = simulate(&[
        &at(&files, "policy.json"),
        "--log",
        &log,
        "--emit-log",
        &log,
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn the_smallest_rate_is_enough_as_buckets_really_refill() {
    let policy = |rate: &str| {
        json!({"policy": "sevens", "version": "1", "limits": {"address": {"per": ["address"], "rate": rate, "burst": 7}},
            "always": ["address"]})
        .to_string()
    };
    // Seven at once each second: 420 a minute refill by whole nanoseconds, a little too slowly.
    let log: String = (0..60 * 7)
        .map(|n| line(n / 7 * 1_000, "192.0.2.1", 200))
        .collect();
    let found = |rate: &str| {
        let files = folder(&[("policy.json", &policy(rate)), ("access.log", &log)]);
        report(&[
            &at(&files, "policy.json"),
            "--log",
            &at(&files, "access.log"),
        ])
    };
    let slow = found("60/min");
    let tier = &limit(&slow, "address")["tiers"][0];
    assert_eq!(
        (&tier["smallest_rate"], &tier["smallest_rate_exact"]),
        (&json!("421/min"), &json!(true))
    );
    assert_eq!(found("421/min")["totals"]["refused"], 0);
    assert_ne!(found("420/min")["totals"]["refused"], 0);
}
