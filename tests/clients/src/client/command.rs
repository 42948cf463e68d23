//! curl, run once for each request.

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use super::process::PROXIES;
use crate::ask::{Ask, Told};

/// Sends by curl with `--retry`.
pub(super) async fn curl(ask: &Ask) -> Result<Told> {
    let mut command = Command::new("curl");
    for name in PROXIES {
        command.env_remove(name);
    }
    command.args(["--silent", "--retry", "4", "--request", ask.method]);
    let told = "%{stderr}%{http_code} %header{idempotent-replayed}";
    command.args(["--write-out", told]);
    for (name, value) in ask.lines() {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    if let Some(body) = ask.body() {
        command.args(["--data", &body]);
    }
    let output = command.arg(&ask.url).kill_on_drop(true).output();
    let output = output.await.context("curl")?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "curl: {}, {told}", output.status);
    let (status, replayed) = told.split_once(' ').with_context(|| told.clone())?;
    Ok(Told {
        status: Some(status.parse()?),
        replayed: replayed == "true",
        error: None,
    })
}
