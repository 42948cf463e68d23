//! Whether a drained account stays drained: when others push it out, after a reload, and with two workers.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::fill::fill;
use crate::limit::Limit;
use crate::peers::{Behind, Peer};
use crate::table::{Table, thousands};

const DRAINED: &str = "drained";

/// The room of each limiter that can be told how much it has.
const ROOM: u32 = 1_024;

/// A younger HAProxy still waits for peers to teach it, and hands nothing over.
const SETTLED: Duration = Duration::from_secs(12);

/// More than a drained account has in the time of a check.
const AGAIN: u32 = 15;

/// What each limiter hands back; `others`: how many other accounts come.
pub(crate) async fn table(others: u32) -> Result<Table> {
    let mut table = Table::new(
        "Admitted of a drained account (10 at once, 1 a minute): 0 is right, 10 is a full bucket",
        &[
            "",
            "after others came",
            "others refused",
            "after a reload",
            "with two workers, of 10",
        ],
    );
    for peer in Peer::LIMITERS {
        let cells = cells(peer, others).await.context(peer.name())?;
        table.row(peer.name(), cells);
    }
    Ok(table)
}

async fn cells(peer: Peer, others: u32) -> Result<[String; 4]> {
    let running = peer.start(Limit::ten(ROOM), Behind::Itself, 1).await?;
    running.drain(DRAINED).await?;
    let statuses = fill(&running, 0..others).await?;
    let after = running.admitted(DRAINED, AGAIN).await?;
    let refused = statuses.get(&429).copied().unwrap_or(0);

    let running = peer.start(Limit::ten(ROOM), Behind::Itself, 1).await?;
    if matches!(peer, Peer::StickTable(table) if table.handed_over()) {
        sleep(SETTLED).await;
    }
    running.drain(DRAINED).await?;
    running.reload().await?;
    let mut reloaded = running.admitted(DRAINED, AGAIN).await?.to_string();
    if peer == Peer::Tidegate {
        running.reship().await?;
        let shipped = running.admitted(DRAINED, AGAIN).await?;
        reloaded = format!("{reloaded}; after another policy {shipped}");
    }

    let running = peer.start(Limit::ten(ROOM), Behind::Itself, 2).await?;
    // On a connection of its own each, so that both workers have their share.
    let both = running.admitted(DRAINED, 60).await?;
    if peer == Peer::Tidegate {
        let right = after == 0 && reloaded == "0; after another policy 0" && both == 10;
        ensure!(
            right,
            "{after} came back, {reloaded} after a reload, {both} of 10 with two workers"
        );
    }
    Ok([
        after.to_string(),
        format!("{} of {}", thousands(refused), thousands(others)),
        reloaded,
        format!("{both}"),
    ])
}
