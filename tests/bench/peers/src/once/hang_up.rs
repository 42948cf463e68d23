//! A client that gives up while its charge is executed, and comes again when it would be done.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;
use tidegate_e2e::{Client, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::calls::{bytes, charge};
use super::stand::{Guard, Stand};

const CHARGES: usize = 10;

/// How long the application takes for a charge.
const HOLD: u32 = 500;

/// When the client comes again: that and half a second after the charge was begun.
const AGAIN: Duration = Duration::from_millis(1_000);

/// How long it may take until the charge is begun.
const SOON: Duration = Duration::from_secs(10);

/// How often all charges were executed, and what the clients got when they came again.
pub(super) async fn measure(stand: &Stand) -> Result<(u64, String)> {
    let calls = (0..CHARGES).map(|number| hang_up(stand, format!("hang-up-{number}")));
    let mut executions = 0;
    let mut got: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in join_all(calls).await {
        let (executed, answer) = outcome.context(stand.name)?;
        executions += executed;
        *got.entry(answer).or_default() += 1;
    }
    if matches!(stand.guard, Guard::Inline | Guard::Detached) {
        ensure!(
            executions == 10,
            "{}: executed {executions} times",
            stand.name
        );
    }
    let got: Vec<String> = got
        .iter()
        .map(|(answer, count)| format!("{count} × {answer}"))
        .collect();
    Ok((executions, got.join(", ")))
}

async fn hang_up(stand: &Stand, name: String) -> Result<(u64, String)> {
    let mut stream = TcpStream::connect(stand.envoy.authority()).await?;
    stream.write_all(&bytes(stand, &name, HOLD)).await?;
    eventually(SOON, async || {
        ensure!(stand.executions(&name).await? == 1, "it is not begun");
        Ok(())
    })
    .await?;
    let begun = Instant::now();
    drop(stream);
    sleep_until(begun + AGAIN).await;
    let answer = charge(stand, &Client::h1(), &name, HOLD).await?;
    let executed = stand.executions(&name).await?;
    let status = answer.status.as_u16();
    let what = match answer.problem() {
        Ok(problem) => {
            let kind = problem["type"].as_str().unwrap_or_default();
            format!("{status} `{}`", kind.rsplit(':').next().unwrap_or(kind))
        }
        Err(_) if executed == 1 => format!("{status}, the first answer"),
        Err(_) => format!("{status}, executed again"),
    };
    Ok((executed, what))
}
