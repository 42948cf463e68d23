//! What the tests of the command line share: it is run as a process, from the root of the repository.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The tool.
pub(crate) fn tidegate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.current_dir(root());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// What a run ended with and printed.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Runs the tool with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Ran {
    ran(&mut tidegate(), arguments)
}

/// Runs the tool in another folder.
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Ran {
    ran(tidegate().current_dir(folder), arguments)
}

fn ran(command: &mut Command, arguments: &[&str]) -> Ran {
    let output = command.args(arguments).output().unwrap();
    Ran {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// The one JSON document on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Writes a policy (and its cases) into a folder.
pub(crate) fn write(folder: &Path, policy: &str, cases: Option<&str>) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("policy.json"), policy).unwrap();
    if let Some(cases) = cases {
        std::fs::write(folder.join("policy.test.json"), cases).unwrap();
    }
}
