//! What halts a canary and what does not, in front of something that answers as Envoy does.

use std::process::Output;

use serde_json::Value;

use crate::fake::{Fake, Traffic};
use crate::stand::{Stand, signal, until};

/// The first version in the gate, and somebody who answers.
pub(crate) fn shipped() -> (Stand, Fake) {
    let stand = Stand::new();
    stand.done(&["ship", "1.wasm"]);
    let fake = Fake::start(&stand);
    (stand, fake)
}

pub(crate) fn canary<'a>(fake: &'a Fake, more: &[&'a str]) -> Vec<&'a str> {
    let canary = [
        "ship",
        "2.wasm",
        "--admin",
        &fake.address,
        "--format",
        "json",
    ];
    [&canary[..], more].concat()
}

fn run(stand: &Stand, fake: &Fake, more: &[&str]) -> Output {
    stand.run(&[&canary(fake, more)[..], &["--to", "to"]].concat())
}

pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// It is halted for a reason that begins so, and nothing of it is left.
#[track_caller]
pub(crate) fn is_halted(stand: &Stand, output: &Output, reason: &str) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = told(output);
    assert_eq!(told["outcome"], "halted");
    let found = told["reason"].as_str().unwrap();
    assert!(found.starts_with(reason), "{found}");
    assert_eq!(stand.mounted("candidate.json"), "");
    assert!(stand.mounted("gate.json").starts_with("shop-1-"));
}

#[track_caller]
fn is_promoted(stand: &Stand, output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(told(output)["outcome"], "promoted");
    assert_eq!(stand.mounted("candidate.json"), "");
    assert!(stand.mounted("gate.json").starts_with("shop-2-"));
}

#[test]
fn a_share_of_which_too_little_was_seen_is_not_passed() {
    let (stand, fake) = shipped();
    fake.traffic(Traffic::default());
    let hold = ["--canary", "5,100", "--hold", "1s"];
    let halted = run(&stand, &fake, &hold);
    is_halted(&stand, &halted, "too few to judge: 0 decisions");
    assert!(
        told(&halted)["reason"]
            .as_str()
            .unwrap()
            .contains("`--min-decisions 0`"),
        "{halted:?}"
    );
    let anyway = run(
        &stand,
        &fake,
        &[&hold[..], &["--min-decisions", "0"]].concat(),
    );
    is_promoted(&stand, &anyway);
}

#[test]
fn a_share_is_judged_at_its_end_by_what_little_there_was() {
    let (stand, fake) = shipped();
    fake.traffic(Traffic {
        decisions: 1,
        refused: 1,
        answers: 1,
        ..Traffic::default()
    });
    let hold = [
        "--canary",
        "5,100",
        "--hold",
        "1s",
        "--min-decisions",
        "1000",
    ];
    is_halted(&stand, &run(&stand, &fake, &hold), "`refused` is 100.0%");
}

#[test]
fn a_share_of_one_in_a_hundred_can_break_the_bound_of_5xx() {
    let (stand, fake) = shipped();
    let traffic = Traffic {
        decisions: 10,
        answers: 1000,
        server_errors: 10,
        before: (1000, 0),
        ..Traffic::default()
    };
    fake.traffic(traffic);
    let hold = ["--canary", "1,100", "--hold", "3s"];
    let halted = run(&stand, &fake, &hold);
    is_halted(&stand, &halted, "`5xx` is ");
    assert_eq!(told(&halted)["percent"], 1);
    // Not so where just as many fail without it.
    fake.traffic(Traffic {
        before: (1000, 10),
        ..traffic
    });
    let hold = ["--canary", "1", "--hold", "3s"];
    is_promoted(&stand, &run(&stand, &fake, &hold));
}

#[test]
fn an_envoy_that_was_started_again_is_noticed_though_it_counts_more_than_before() {
    let (stand, fake) = shipped();
    let more = [
        "--canary",
        "5,100",
        "--hold",
        "1h",
        "--halt-on",
        "refused=5%",
    ];
    let child = stand.begin("", &canary(&fake, &more));
    until("a canary", || !stand.mounted("candidate.json").is_empty());
    fake.starts_again();
    let halted = child.wait_with_output().unwrap();
    is_halted(&stand, &halted, "envoy was started again");
}

#[test]
fn what_cannot_be_judged_or_is_not_taken_is_refused_before_anything_is_written() {
    let (stand, fake) = shipped();
    let fails = |more: &[&str], saying: &str| {
        stand.fails(&canary(&fake, more), 4, saying);
    };
    fails(
        &["--canary", "5", "--hold", "9s", "--halt-on", "p99=1s"],
        "cannot be judged within a shorter hold than 10 s",
    );
    fails(
        &["--canary", "1,5", "--hold", "10s", "--halt-on", "p99=1s"],
        "a share of 1% cannot move it",
    );
    fails(&["--canary", "5", "--by", "acount"], "`acount`");
    assert_eq!(stand.mounted("candidate.json"), "");
    // What is counted of the gate would be taken for the candidate's.
    stand.done(&["ship", "half.wasm", "--slot", "gate"]);
    fails(
        &["--canary", "5"],
        "is itself enforced for 50 of a hundred callers",
    );
}

#[test]
fn a_promotion_that_fails_puts_the_gate_back_and_says_so() {
    let (stand, fake) = shipped();
    let hold = ["--canary", "100", "--hold", "1s", "--wait", "3s"];
    fake.refuses("gate.json");
    let halted = run(&stand, &fake, &hold);
    is_halted(&stand, &halted, "not promoted: Envoy refused it");
    assert_eq!(told(&halted)["gate"], "put-back");
    let said = String::from_utf8(halted.stderr).unwrap();
    assert!(
        said.contains("the gate has again what it had before"),
        "{said}"
    );
    let history = stand.resource("history.json");
    assert_eq!(history["gate"].as_array().unwrap().len(), 1, "{history}");
}

/// The candidate's VMs run the same, and would be counted for the gate's.
#[test]
fn a_promotion_waits_for_the_vms_of_the_gate() {
    let (stand, fake) = shipped();
    fake.gate_vms(2);
    let hold = ["--canary", "100", "--hold", "1s", "--wait", "4s"];
    let halted = run(&stand, &fake, &hold);
    is_halted(&stand, &halted, "not promoted: after 4s 2 of 3 VMs run it");
}

#[test]
fn a_promotion_is_stopped_by_ctrl_c() {
    let (stand, fake) = shipped();
    fake.gate_vms(2);
    let hold = ["--canary", "100", "--hold", "1s", "--wait", "1h"];
    let child = stand.begin("", &canary(&fake, &hold));
    until("a promotion", || {
        stand.mounted("gate.json").starts_with("shop-2-")
    });
    signal("-INT", &child);
    let halted = child.wait_with_output().unwrap();
    is_halted(&stand, &halted, "not promoted: somebody stopped it");
}

#[test]
fn the_gate_can_be_rolled_back_and_the_candidate_taken_out_meanwhile() {
    let stand = Stand::new();
    stand.done(&["ship", "2.wasm"]);
    stand.done(&["ship", "1.wasm"]);
    let fake = Fake::start(&stand);
    for (slot, file) in [("candidate", "candidate.json"), ("gate", "gate.json")] {
        let child = stand.begin("", &canary(&fake, &["--canary", "5", "--hold", "1h"]));
        until("a canary", || !stand.mounted("candidate.json").is_empty());
        // Others do not ship meanwhile.
        let other = stand.run(&["ship", "1.wasm", "--to", "to"]);
        assert_eq!(other.status.code(), Some(4), "{other:?}");
        let back = stand.run(&["rollback", "--to", "to", "--slot", slot]);
        assert_eq!(back.status.code(), Some(0), "{back:?}");
        let said = String::from_utf8(back.stderr).unwrap();
        assert!(said.contains("a canary was under way"), "{said}");
        let halted = child.wait_with_output().unwrap();
        assert_eq!(halted.status.code(), Some(1), "{halted:?}");
        let reason = format!("somebody else changed `{file}` meanwhile");
        assert_eq!(told(&halted)["reason"], reason);
        assert_eq!(told(&halted)[slot], "theirs");
        assert_eq!(stand.mounted("candidate.json"), "");
    }
    assert!(stand.mounted("gate.json").starts_with("shop-2-"));
}

#[test]
fn a_policy_with_a_canary_of_its_own_ends_as_one_that_is_enforced() {
    let (stand, fake) = shipped();
    let half = ["ship", "half.wasm", "--admin", &fake.address, "--to", "to"];
    // Not by the way: the others would lose what the gate does for them.
    let refused = stand.run(&half);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    let more = ["--canary", "5,100", "--hold", "1s"];
    let promoted = stand.run(&[&half[..], &more].concat());
    assert_eq!(promoted.status.code(), Some(0), "{promoted:?}");
    let told = stand.plugin("gate.json", "/configuration/value");
    assert_eq!(told, "{\"mode\":\"enforce\"}");
}
