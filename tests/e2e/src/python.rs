//! Pythons with packages: clients that others wrote come as such.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// A Python that has what a requirements file names, in the folder `target/NAME`; made anew when the file has changed.
///
/// # Errors
///
/// There is no Python with `venv`, or a package cannot be had.
pub fn python(name: &str, requirements: &Path) -> Result<PathBuf> {
    let folder = crate::repo().join("target").join(name);
    let python = folder.join("bin/python");
    let made = folder.join("made");
    let wanted = std::fs::read_to_string(requirements)
        .with_context(|| requirements.display().to_string())?;
    if std::fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--requirement"])
        .arg(requirements))?;
    std::fs::write(&made, wanted)?;
    Ok(python)
}

/// Runs a command to its end and gives what it printed.
///
/// # Errors
///
/// It cannot be run, or fails; the error holds what it said.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
