//! Runs the tests that are named after statements, and no others.

use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::log::Outcomes;
use crate::program::{Program, cargo, repository};

/// What became of the tests of these programs. How far it has come is told on standard error, and so is all that a program said
/// in which a test failed.
///
/// # Errors
/// Cargo cannot be run.
pub(crate) fn run(programs: &[Program]) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    for program in programs {
        let count = program.tests.len();
        let what = program.arguments.join(" ");
        anstream::eprintln!("cargo test {what}: {count} tests");
        let mut command = cargo();
        command
            .arg("test")
            .args(&program.arguments)
            .args(["--", "--exact"])
            .args(program.tests.iter().map(|test| &test.name))
            .current_dir(repository())
            // Where this is set, tests fail for want of a program that they would be skipped without.
            .env("CI", "true")
            .stdin(Stdio::null());
        let output = command.output().context("cargo cannot be run")?;
        // In a log the line that names the program stands before what the program says.
        let said = [&output.stderr[..], b"\n", &output.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        outcomes.read(&said);
        if !output.status.success() {
            anstream::eprintln!("{said}");
        }
    }
    Ok(outcomes)
}
