//! However a canary is left, the candidate is taken out.

use std::fs;
use std::io::Read as _;

use crate::canary::{canary, is_halted, shipped, told};
use crate::fake::{Fake, Traffic};
use crate::stand::{Stand, signal, until};

const LONG: [&str; 6] = [
    "--canary",
    "5,100",
    "--hold",
    "1h",
    "--halt-on",
    "refused=5%",
];

/// It runs on a terminal that goes away while a share is held.
#[test]
fn a_terminal_that_goes_away_takes_the_candidate_with_it() {
    let (stand, fake) = shipped();
    let (mut terminal, theirs) = pty_process::blocking::open().unwrap();
    let mut child = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(canary(&fake, &LONG))
        .args(["--to", "to"])
        .current_dir(stand.at(""))
        .spawn(theirs)
        .unwrap();
    let mut said = String::new();
    until("a share is held", || {
        let mut bytes = [0; 1024];
        let length = terminal.read(&mut bytes).unwrap();
        said.push_str(&String::from_utf8_lossy(&bytes[..length]));
        said.contains("held for 1h")
    });
    assert!(stand.mounted("candidate.json").starts_with("shop-2-"));
    drop(terminal);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(stand.mounted("candidate.json"), "");
}

/// Nobody can be told anything, from the first line on.
#[test]
fn a_log_that_is_full_keeps_nothing_from_being_taken_back() {
    let (stand, fake) = shipped();
    fake.traffic(Traffic {
        decisions: 50,
        refused: 50,
        answers: 50,
        ..Traffic::default()
    });
    let child = stand.begin("exec 2>/dev/full; ", &canary(&fake, &LONG));
    is_halted(
        &stand,
        &child.wait_with_output().unwrap(),
        "`refused` is 100.0%",
    );
}

/// Neither the candidate's file nor the history can be written any more: the way back was on the disk before.
#[test]
fn a_disk_that_is_full_keeps_nothing_from_being_taken_back() {
    let (stand, fake) = shipped();
    let child = stand.begin("trap '' XFSZ; ", &canary(&fake, &LONG));
    until("a canary", || !stand.mounted("candidate.json").is_empty());
    let pid = child.id().to_string();
    let full = std::process::Command::new("prlimit")
        .args(["--fsize=0", "--pid", &pid])
        .status();
    assert!(full.unwrap().success());
    signal("-TERM", &child);
    is_halted(
        &stand,
        &child.wait_with_output().unwrap(),
        "somebody stopped it",
    );
}

#[test]
fn a_history_that_is_damaged_keeps_nothing_from_being_taken_back() {
    let (stand, fake) = shipped();
    let child = stand.begin("", &canary(&fake, &LONG));
    until("a canary", || !stand.mounted("candidate.json").is_empty());
    fs::write(stand.at("to/history.json"), "{").unwrap();
    signal("-HUP", &child);
    is_halted(
        &stand,
        &child.wait_with_output().unwrap(),
        "somebody stopped it",
    );
}

/// Kills a canary while it has something in the candidate's slot.
fn kill_one(stand: &Stand, fake: &Fake) {
    let mut child = stand.begin("", &canary(fake, &LONG));
    until("a canary", || {
        stand
            .resource("candidate.json")
            .to_string()
            .contains("canary")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stand.mounted("candidate.json").starts_with("shop-2-"));
}

#[test]
fn what_a_killed_canary_left_is_no_way_back() {
    let (stand, fake) = shipped();
    kill_one(&stand, &fake);
    // Another one ends, and has it taken out.
    let child = stand.begin("", &canary(&fake, &LONG));
    let before = stand.resource("candidate.json");
    until("a canary", || stand.resource("candidate.json") != before);
    signal("-INT", &child);
    let halted = child.wait_with_output().unwrap();
    is_halted(&stand, &halted, "somebody stopped it");
    assert_eq!(told(&halted)["candidate"], "emptied");
    // So does a rollback, whatever was enforced there before.
    stand.done(&["ship", "1.wasm", "--slot", "candidate"]);
    stand.done(&["ship", "2.wasm", "--slot", "candidate", "--shadow"]);
    kill_one(&stand, &fake);
    assert_eq!(
        stand.done(&["rollback", "--slot", "candidate"])["version"],
        "2"
    );
    let shadow = stand.plugin("candidate.json", "/configuration/value");
    assert_eq!(shadow, "{\"mode\":\"shadow\"}");
    assert_eq!(
        stand.done(&["rollback", "--slot", "candidate"])["policy"],
        serde_json::Value::Null
    );
    assert_eq!(stand.mounted("candidate.json"), "");
}

#[test]
fn a_promotion_empties_the_slot_and_the_history_says_so() {
    let (stand, fake) = shipped();
    stand.done(&["ship", "1.wasm", "--slot", "candidate", "--shadow"]);
    let done = stand.begin("", &canary(&fake, &["--canary", "5,50", "--hold", "1s"]));
    let done = done.wait_with_output().unwrap();
    assert_eq!(told(&done)["outcome"], "promoted");
    assert_eq!(stand.mounted("candidate.json"), "");
    let history = stand.resource("history.json");
    let last = history["candidate"].as_array().unwrap().last().unwrap();
    assert_eq!(last["mounts"]["candidate.json"], "nothing", "{history}");
    // What was in shadow there is what was there before.
    let back = stand.done(&["rollback", "--slot", "candidate"]);
    assert_eq!(back["version"], "1");
    assert_eq!(stand.done(&["rollback"])["version"], "1");
}
