//! Runs the tests that are named after statements, and no others.

use std::fs::{self, File};
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::log::Outcomes;
use crate::program::{Program, cargo, repository};

/// Where what the programs say is kept, from the root of the repository: to be looked at while they run, and to make a report
/// of again.
const LOG: &str = "target/test-results/conformance.log";

/// What became of the tests of these programs. How far it has come is told on standard error, and so is all that a program said
/// in which a test failed.
///
/// # Errors
/// Cargo cannot be run, or what is said cannot be kept.
pub(crate) fn run(programs: &[Program]) -> Result<Outcomes> {
    let path = repository().join(LOG);
    fs::create_dir_all(path.parent().unwrap_or(&path)).context(LOG)?;
    File::create(&path).context(LOG)?;
    let mut outcomes = Outcomes::default();
    let mut before = 0;
    for program in programs {
        let count = program.tests.len();
        let what = program.arguments.join(" ");
        anstream::eprintln!("cargo test {what}: {count} tests");
        let log = File::options().append(true).open(&path).context(LOG)?;
        let mut command = cargo();
        command
            .arg("test")
            .args(&program.arguments)
            .args(["--", "--exact"])
            .args(program.tests.iter().map(|test| &test.name))
            .current_dir(repository())
            // Where this is set, tests fail for want of a program that they would be skipped without.
            .env("CI", "true")
            .stdin(Stdio::null())
            .stdout(log.try_clone().context(LOG)?)
            .stderr(log);
        let status = command.status().context("cargo cannot be run")?;
        let all = fs::read(&path).context(LOG)?;
        let said = all.get(before..).unwrap_or_default();
        let said = String::from_utf8_lossy(said);
        outcomes.read(&said);
        if !status.success() {
            anstream::eprintln!("{said}");
        }
        before = all.len();
    }
    Ok(outcomes)
}
