//! Which Envoy is run (`TIDEGATE_ENVOY`, or what `scripts/envoy` prints), and its check of a configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Result, ensure};

/// The path of the binary; asked for once per test program.
///
/// # Errors
///
/// There is none, and none could be brought.
pub fn path() -> Result<PathBuf> {
    static PATH: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PATH.get_or_init(|| find().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
}

/// Has Envoy check a configuration file without running it; relative paths in it start in `folder`. The module is loaded and
/// reads its policy.
///
/// # Errors
///
/// Envoy refuses it; the error holds what Envoy said.
pub fn validate(config: &Path, folder: &Path) -> Result<()> {
    let check = Command::new(path()?)
        .args(["--mode", "validate", "--config-path"])
        .arg(config)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&check.stderr);
    ensure!(check.status.success(), "{}: {said}", config.display());
    Ok(())
}

fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("TIDEGATE_ENVOY") {
        let path = PathBuf::from(path);
        ensure!(
            path.is_file(),
            "TIDEGATE_ENVOY is `{}`, which is no file",
            path.display()
        );
        return Ok(path);
    }
    let script = Command::new(crate::repo().join("scripts/envoy"))
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(script.status.success(), "scripts/envoy brought no Envoy");
    Ok(String::from_utf8(script.stdout)?.trim().into())
}
