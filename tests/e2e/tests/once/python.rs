//! Clients that come as Python packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tidegate_e2e::repo;

/// The packages, at the versions that were looked at.
const PACKAGES: [&str; 2] = ["stripe==16.1.0", "standardwebhooks==1.1.0"];

/// A Python with the packages, made once and kept in the ignored folder of the build; else why there is none.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let folder = repo().join("target/e2e-python");
    let python = folder.join("bin/python");
    let made = folder.join("made");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    run(pip.args(PACKAGES))?;
    std::fs::write(&made, wanted).map_err(|error| error.to_string())?;
    Ok(python)
});

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {said}"))
}

/// The Python with the packages. Without it a test has to return without having tested anything; it says so, and fails
/// where `CI` is set.
#[allow(
    clippy::print_stdout,
    reason = "a test is skipped where people see it, and never where nobody looks"
)]
pub(crate) fn python() -> Option<&'static Path> {
    match &*PYTHON {
        Ok(python) => Some(python),
        Err(why) if std::env::var_os("CI").is_some_and(|ci| !ci.is_empty()) => panic!("{why}"),
        Err(why) => {
            println!("skipped: no Python with {PACKAGES:?}: {why}");
            None
        }
    }
}

/// What a script beside this file prints, given these arguments.
pub(crate) async fn say(python: &'static Path, script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(python);
    command.arg(repo().join("tests/e2e/tests/once").join(script));
    command.args(arguments);
    let run = tokio::task::spawn_blocking(move || run(&mut command));
    let output = run.await.unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
