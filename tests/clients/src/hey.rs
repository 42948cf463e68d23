//! hey, a tool that makes load: it tries nothing again and waits for nothing, as Go's own client does.

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use tokio::process::Command;

use crate::attempt::Attempt;
use crate::exact;
use crate::stand::{REFILL, Stand, made};

/// How many requests it sends, and how many a second.
const REQUESTS: usize = 35;
const PER_SECOND: usize = 5;

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) admitted: usize,
    pub(crate) refused: usize,
}

/// Lets it send over a limit for some seconds.
pub(crate) async fn load(stand: &Stand) -> Result<Load> {
    let path = "/limited/hey";
    let output = Command::new("hey")
        .args(["-n", &REQUESTS.to_string(), "-c", "1"])
        .args(["-q", &PER_SECOND.to_string(), "-H", "x-account: hey"])
        .arg(stand.envoy.at(path))
        .kill_on_drop(true)
        .output();
    let output = output.await.context("hey")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "hey: {said}");
    let attempts = made(&stand.envoy, "GET", path).await?;
    ensure!(
        attempts.len() == REQUESTS,
        "{} requests came",
        attempts.len()
    );
    exact::check(&attempts)?;
    let admitted: Vec<_> = attempts.iter().filter(|a| a.status == 200).collect();
    // It comes five times a second, so that each admission is in the first fifth of a second in which there is one.
    for pair in admitted.windows(2) {
        if let [before, after] = pair {
            let after = after.at - before.at;
            ensure!(after < REFILL + 1.0, "nothing in {after} s: {attempts:?}");
        }
    }
    ensure!(admitted.len() > 2, "{attempts:?}");
    Ok(Load {
        admitted: admitted.len(),
        refused: REQUESTS - admitted.len(),
        attempts,
    })
}
