//! The tool on a terminal and in a pipe; what it says about itself.
#![cfg(target_os = "linux")]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::process::{Command, Stdio};

use common::{root, run};
use serde_json::Value;

/// The verbs that this tool has had from the start.
const VERBS: [&str; 6] = ["lint", "test", "explain", "diff", "schema", "completions"];

/// What the tool prints on a pseudo-terminal.
fn on_a_terminal(arguments: &str) -> String {
    let output = Command::new("script")
        .args([
            "-qec",
            &format!("{} {arguments}", env!("CARGO_BIN_EXE_tidegate")),
            "/dev/null",
        ])
        .current_dir(root())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn colour_is_for_terminals_alone() {
    let shown = on_a_terminal("test policies/first-limit");
    assert!(shown.contains("\x1b["), "{shown:?}");
    assert!(shown.contains("test result"), "{shown}");
    let shown = on_a_terminal("lint policies/plans/doubt");
    assert!(shown.contains("\x1b[1m\x1b[33m2 warnings"), "{shown:?}");
    for arguments in [
        &["test", "policies/first-limit"][..],
        &["lint", "policies/plans/doubt"],
        &["explain", "policies/plans"],
        &["diff", "policies/plans", "policies/guests"],
    ] {
        let ran = run(arguments);
        assert!(!ran.out.contains('\x1b'), "{}", ran.out);
        assert!(!ran.err.contains('\x1b'), "{}", ran.err);
        assert!(!ran.out.is_empty());
    }
}

#[test]
fn a_program_gets_one_json_document_and_no_colour() {
    let shown = on_a_terminal("lint policies/plans/doubt --format json");
    assert!(!shown.contains('\x1b'), "{shown:?}");
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(report["warnings"], 2);
}

#[test]
fn the_schema_is_the_one_in_the_repository() {
    let kept = std::fs::read_to_string(root().join("policies/schema.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(run(&["schema"]).json(), kept);
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.status, 0);
        for verb in VERBS {
            assert!(ran.out.contains(verb), "{shell}: {verb}");
        }
    }
    assert_eq!(run(&["completions", "none-such"]).status, 2);
}

#[test]
fn a_command_line_that_cannot_be_read_ends_with_2() {
    for arguments in [
        &[][..],
        &["none-such"],
        &["lint", "--none-such"],
        &["test", "--format", "xml"],
    ] {
        assert_eq!(run(arguments).status, 2, "{arguments:?}");
    }
    assert_eq!(run(&["--help"]).status, 0);
    assert!(run(&["--version"]).out.starts_with("tidegate "));
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for arguments in [
        &["completions", "bash"][..],
        &["schema"],
        &["test", "policies"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .current_dir(root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), err.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn half_of_a_result_is_none() {
    for arguments in [
        &["schema"][..],
        &["completions", "bash"],
        &["lint", "policies/tenant-cache/doubt", "--format", "json"],
        &["test", "policies"],
        &["explain", "policies/first-limit", "--request", "/"],
        &["diff", "policies/first-limit", "policies/plans"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .current_dir(root())
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {err}");
        let told = err.matches("the result cannot be written").count();
        assert_eq!(told, 1, "{arguments:?}: {err}");
    }
}
