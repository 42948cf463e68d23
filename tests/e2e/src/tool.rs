//! The command-line tool, as it was built: `TIDEGATE_CLI`, else `dist/tidegate`.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

/// The path of the tool.
///
/// # Errors
///
/// It is not there.
pub fn path() -> Result<PathBuf> {
    let path = std::env::var_os("TIDEGATE_CLI")
        .map_or_else(|| crate::repo().join("dist/tidegate"), PathBuf::from);
    ensure!(path.is_file(), "no {}; run `make build`", path.display());
    Ok(path)
}

/// The tool, to be run in `folder`.
///
/// # Errors
///
/// It is not there.
pub fn command(folder: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(path()?);
    command
        .current_dir(folder)
        .args(arguments)
        .kill_on_drop(true);
    Ok(command)
}

/// Runs the tool in `folder`.
///
/// # Errors
///
/// It cannot be run.
pub async fn run(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let output = command(folder, arguments)?.output().await;
    output.with_context(|| format!("tidegate {}", arguments.join(" ")))
}
