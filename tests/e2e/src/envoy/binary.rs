//! Which Envoy is run: `TIDEGATE_ENVOY`, or what `scripts/envoy` prints.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Result, ensure};

/// The path of the binary; asked for once per test program.
pub(super) fn path() -> Result<PathBuf> {
    static PATH: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PATH.get_or_init(|| find().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
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
