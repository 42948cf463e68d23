//! The rehearsal: a bad policy is shipped through the canary, is halted and rolled back by itself, and nobody outside the
//! share sees anything of it; and a good one that walks all steps.

use std::collections::BTreeSet;
use std::process::Output;
use std::time::Duration;

use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};
use tidegate_core::cases::in_share;
use tidegate_core::policy::Policy;
use tidegate_e2e::{Client, Reply, eventually, tool};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::crowd::{ACCOUNTS, Answers, COST, Crowd, account};
use crate::stand::{SOON, Stand, errors, is_done, told};

/// Room for all that the crowd asks, but for two accounts whose buckets are watched.
fn policy(version: &str) -> Value {
    json!({
        "policy": "shop", "version": version,
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": "10000/s", "burst": 10_000,
            "overrides": {"account": {
                "drained": {"rate": "1/day", "burst": 3}, "half": {"rate": "1/day", "burst": 10},
            }},
        }},
        "always": ["account"],
        "routes": [{"name": "all", "match": {"path": "/*"}}],
    })
}

/// Believes what callers say a request costs, which is more than anybody has: everyone is refused.
fn bad() -> Value {
    let mut policy = policy("2-bad");
    policy["routes"][0]["cost"] = json!({"header": COST});
    policy
}

/// The accounts that a share of so many percent holds.
fn share(mut document: Value, percent: u8) -> BTreeSet<usize> {
    document["canary"] = json!({"percent": percent});
    let policy = Policy::parse(document.to_string().as_bytes()).unwrap();
    let inside = |number: &usize| in_share(&policy, &[(b"x-account", account(*number).as_bytes())]);
    (0..ACCOUNTS).filter(inside).collect()
}

fn refused(answers: &Answers) -> BTreeSet<usize> {
    let refused = answers.keys().filter(|(_, status)| *status != 200);
    refused.map(|(number, _)| *number).collect()
}

/// A canary was halted at this share; what the tool told of it.
#[track_caller]
fn is_halted(output: &Output, percent: u8) -> Value {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let document = told(output);
    assert_eq!(document["outcome"], "halted");
    assert_eq!(document["percent"], percent);
    document
}

/// What is left of the bucket of `half`, of which this takes one more.
async fn left(stand: &Stand) -> String {
    let answer = stand.ask("half").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("ratelimit").unwrap().to_owned()
}

#[tokio::test]
async fn a_bad_policy_is_halted_and_nobody_outside_its_share_is_touched() {
    let stand = Stand::start(&policy("1")).await;
    stand.pack(&bad(), "bad.wasm").await;
    assert_eq!(stand.drain("drained").await, 3);
    for n in 0..4 {
        assert!(left(&stand).await.contains(&format!("r={}", 9 - n)));
    }
    let (gate, candidate) = (stand.shipped("gate.json"), stand.shipped("candidate.json"));
    let crowd = Crowd::start(&stand.envoy.shipped_at("/"));
    crowd.goes_on().await;
    assert_eq!(refused(&crowd.take()), BTreeSet::new());

    let steps = [
        "--canary",
        "5,25,100",
        "--hold",
        "1m",
        "--halt-on",
        "refused=5%,5xx=1%",
    ];
    let halted = stand
        .tool(&[&["ship", "bad.wasm"], &steps[..]].concat())
        .await;
    let document = is_halted(&halted, 5);
    assert_eq!(document["bound"]["bound"], "refused");
    assert_eq!(document["bound"]["allowed"], "5%");
    assert!(
        document["bound"]["found"]
            .as_str()
            .unwrap()
            .starts_with("100.0%"),
        "{document}"
    );
    assert!(
        document["steps"][0]["figures"]["decisions"].as_u64() >= Some(50),
        "{document}"
    );
    assert!(
        errors(&halted).contains("halted at 5%: `refused` is 100.0%"),
        "{halted:?}"
    );
    assert!(
        errors(&halted).contains("has again what it had before"),
        "{halted:?}"
    );

    // It is over for those in the share too, by itself.
    let seen = crowd.take();
    eventually(SOON, async || {
        crowd.take();
        crowd.goes_on().await;
        let late = refused(&crowd.take());
        ensure!(late.is_empty(), "{late:?}");
        Ok(())
    })
    .await
    .unwrap();
    crowd.stop().await;
    let (touched, inside) = (refused(&seen), share(bad(), 5));
    assert!(
        !touched.is_empty() && touched.is_subset(&inside),
        "{touched:?} in {inside:?}"
    );
    assert!((5..=30).contains(&inside.len()), "{inside:?}");

    assert_eq!(stand.shipped("gate.json"), gate);
    assert_eq!(
        stand.shipped("candidate.json")["resources"],
        candidate["resources"]
    );
    assert_eq!(stand.ask("drained").await.status, 429);
    assert!(left(&stand).await.contains("r=5"), "the bucket is another");
}

#[tokio::test]
async fn a_good_policy_walks_all_steps_and_is_promoted() {
    let stand = Stand::start(&policy("1")).await;
    stand.pack(&policy("2"), "good.wasm").await;
    assert_eq!(stand.drain("drained").await, 3);
    let crowd = Crowd::start(&stand.envoy.shipped_at("/"));
    crowd.goes_on().await;
    let bounds = "refused=5%,5xx=1%,p99=5s,seal-mismatches=1";
    let steps = ["--canary", "5,50,100", "--hold", "10s", "--halt-on", bounds];
    let done = stand
        .tool(&[&["ship", "good.wasm"], &steps[..]].concat())
        .await;
    is_done(&done);
    let document = told(&done);
    assert_eq!(document["outcome"], "promoted");
    assert_eq!(document["vms"], 3);
    assert_eq!(
        document["halt_on"],
        "refused=5%,5xx=1%,p99=5000ms,seal-mismatches=1"
    );
    let steps = document["steps"].as_array().unwrap();
    let percents: Vec<_> = steps.iter().map(|step| step["percent"].as_u64()).collect();
    assert_eq!(percents, [Some(5), Some(50), Some(100)]);
    for step in steps {
        let figures = &step["figures"];
        assert_eq!(figures["refused"], 0, "{step}");
        assert!(figures["p99_ms"].as_f64() > Some(0.0), "{step}");
        // About as many of the answers were enforced as the share is large.
        let (decisions, answers) = (figures["decisions"].as_f64(), figures["answers"].as_f64());
        let found = decisions.unwrap() / answers.unwrap() * 100.0;
        let share = step["percent"].as_f64().unwrap();
        assert!((found - share).abs() < 20.0, "{step}");
    }
    assert_eq!(refused(&crowd.stop().await), BTreeSet::new());
    // In the gate, under the gate's VM, and nowhere else.
    let gate = stand.shipped("gate.json").to_string();
    assert!(
        gate.contains("shop-2-") && gate.contains("\"tidegate-shop\""),
        "{gate}"
    );
    assert!(!stand.shipped("candidate.json").to_string().contains("wasm"));
    assert_eq!(stand.ask("drained").await.status, 429);
    let back = stand.tool(&["rollback"]).await;
    assert_eq!(told(&back)["version"], "1");
}

#[tokio::test]
async fn who_stops_the_tool_or_loses_envoy_has_it_rolled_back() {
    let mut stand = Some(Stand::start(&policy("1")).await);
    let here = stand.as_ref().unwrap();
    here.pack(&policy("2"), "good.wasm").await;
    let (folder, admin) = (here.envoy.folder(), here.envoy.admin());
    let empty = here.shipped("candidate.json");
    let arguments = [
        "ship",
        "good.wasm",
        "--to",
        folder.to_str().unwrap(),
        "--admin",
        &admin,
        "--canary",
        "5,100",
        "--hold",
        "1h",
        "--format",
        "json",
    ];
    let begin = || {
        let mut command = tool::command(&here.file(""), &arguments).unwrap();
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    // It says so when every worker has it.
    let holds = async |child: &mut tokio::process::Child| {
        let mut said = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        let mut line = async || {
            let line = timeout(Duration::from_secs(60), said.next_line());
            line.await.unwrap().unwrap().unwrap()
        };
        assert_eq!(
            line().await,
            "10s without it first, to know how often answers are 5xx"
        );
        assert_eq!(line().await, "5%: every worker runs it; held for 1h");
    };
    let mut child = begin();
    holds(&mut child).await;
    // Nobody else ships meanwhile.
    let other = here.tool(&["ship", "good.wasm"]).await;
    assert_eq!(other.status.code(), Some(4));
    assert!(
        errors(&other).contains("is being changed by another"),
        "{other:?}"
    );
    let pid = child.id().unwrap().to_string();
    let signal = tokio::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(signal.await.unwrap().success());
    let stopped = child.wait_with_output().await.unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    assert_eq!(told(&stopped)["reason"], "somebody stopped it");
    assert_eq!(
        here.shipped("candidate.json")["resources"],
        empty["resources"]
    );

    let mut child = begin();
    holds(&mut child).await;
    let signal = tokio::process::Command::new("kill")
        .args(["-STOP", &here.envoy.pid().to_string()])
        .status();
    assert!(signal.await.unwrap().success());
    let lost = child.wait_with_output().await.unwrap();
    assert_eq!(lost.status.code(), Some(1), "{lost:?}");
    assert!(
        told(&lost)["reason"]
            .as_str()
            .unwrap()
            .starts_with("no answer for 10s"),
        "{lost:?}"
    );
    assert_eq!(
        here.shipped("candidate.json")["resources"],
        empty["resources"]
    );
    drop(stand.take());
}

/// Asks all the time, whatever is answered, until it is dropped.
fn ask(url: &str) -> JoinSet<()> {
    let mut asking = JoinSet::new();
    for connection in 0..8 {
        let url = url.to_owned();
        asking.spawn(async move {
            let client = Client::h1();
            for number in 0..20_000 {
                let account = account((connection * 37 + number) % ACCOUNTS);
                let _ = client.get(&url).header("x-account", account).send().await;
            }
        });
    }
    asking
}

#[tokio::test]
async fn errors_and_slowness_halt_it_as_refusals_do() {
    let failing = Reply::status(StatusCode::INTERNAL_SERVER_ERROR);
    let slow = Reply::status(StatusCode::OK).after(Duration::from_millis(400));
    for (reply, bounds, broken) in [
        (failing, "refused=5%,5xx=1%", "5xx"),
        (slow, "refused=5%,p99=100ms", "p99"),
    ] {
        let stand = Stand::start(&policy("1")).await;
        stand.pack(&policy("2"), "good.wasm").await;
        let empty = stand.shipped("candidate.json");
        stand.origin.answer("/", reply);
        let asking = ask(&stand.envoy.shipped_at("/"));
        let canary = ["--canary", "25,100", "--hold", "1m", "--halt-on", bounds];
        let halted = stand
            .tool(&[&["ship", "good.wasm"], &canary[..]].concat())
            .await;
        let document = is_halted(&halted, 25);
        assert_eq!(document["bound"]["bound"], broken, "{document}");
        assert_eq!(
            stand.shipped("candidate.json")["resources"],
            empty["resources"]
        );
        drop(asking);
    }
}
