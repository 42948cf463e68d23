//! The tool, and what it says.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The root of the repository.
pub(crate) fn repo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The tool, in the root of the repository.
pub(crate) fn tidegate() -> Command {
    let mut command = Command::cargo_bin("tidegate").unwrap();
    command.current_dir(repo());
    command
}

/// Runs `tidegate simulate` with these arguments.
pub(crate) fn simulate(arguments: &[&str]) -> Output {
    tidegate().arg("simulate").args(arguments).output().unwrap()
}

/// Its report; it has to be done.
pub(crate) fn report(arguments: &[&str]) -> Value {
    let output = tidegate()
        .args(["--format", "json", "simulate"])
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What it said on standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What it printed.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The path of a file in a folder.
pub(crate) fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// The rule of this name in a report.
pub(crate) fn rule<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rules = report["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["rule"] == name).unwrap()
}

/// The limit of this name in a report.
pub(crate) fn limit<'a>(report: &'a Value, name: &str) -> &'a Value {
    let limits = report["limits"].as_array().unwrap();
    limits.iter().find(|limit| limit["limit"] == name).unwrap()
}

/// Five a minute for each address, two at once.
pub(crate) const BY_ADDRESS: &str = r#"{"policy": "by-address", "version": "1",
    "limits": {"address": {"per": ["address"], "rate": "60/min", "burst": 2}}, "always": ["address"]}"#;

/// By account, which is a header that is no secret.
pub(crate) const BY_ACCOUNT: &str = r#"{"policy": "by-account", "version": "1",
    "identity": {"account": [{"header": "x-account"}]},
    "limits": {"account": {"per": ["account"], "rate": "60/min", "burst": 2}}, "always": ["account"]}"#;
