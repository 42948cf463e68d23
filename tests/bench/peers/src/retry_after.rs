//! What `Retry-After` is worth: whether a retry after the time that was told is admitted, and whether one a second earlier
//! would have been.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tidegate_e2e::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::limit::Limit;
use crate::peers::{Behind, Peer, Running, StickTable};
use crate::table::Table;

/// What is compared: the other uses of a stick table tell the same.
const ROWS: [Peer; 6] = [
    Peer::Native,
    Peer::Lua,
    Peer::LimitReq,
    Peer::StickTable(StickTable::Plain),
    Peer::StickTable(StickTable::LooksFirst),
    Peer::Tidegate,
];

const REFUSALS: usize = 200;

/// Two at once, and one more every three seconds.
const LIMIT: Limit = Limit {
    burst: 2,
    interval: Duration::from_secs(3),
    accounts: 4_096,
};

const SECOND: Duration = Duration::from_secs(1);

/// The earlier retry is earlier by this much more than a second, so that it is seldom late by the client's own fault.
const MARGIN: Duration = Duration::from_millis(25);

/// How often a refusal is tried again when it was late all the same.
const ATTEMPTS: usize = 10;

/// What a refusal told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// A retry at that time was refused.
    Early,
    /// It was admitted, and one a second earlier was not.
    Exact,
    /// One a second earlier was admitted.
    Late,
}

/// All refusals of all limiters, at the same time.
pub(crate) async fn table() -> Result<Table> {
    let mut peers = Vec::new();
    for peer in ROWS {
        let running = peer.start(LIMIT, Behind::Itself, 1).await;
        peers.push(Arc::new(running.context(peer.name())?));
    }
    let mut running = JoinSet::new();
    for (index, peer) in peers.iter().enumerate() {
        for number in 0..REFUSALS {
            let peer = Arc::clone(peer);
            running.spawn(async move {
                let told = refusal(&peer, number).await;
                Ok::<_, anyhow::Error>((index, told.context(peer.peer.name())?))
            });
        }
    }
    let mut all = vec![Vec::new(); peers.len()];
    while let Some(done) = running.join_next().await {
        let (index, told) = done??;
        all[index].push(told);
    }
    let mut table = Table::new(
        "`Retry-After` of 200 refusals",
        &["", "early", "exact", "late"],
    );
    for (peer, all) in peers.iter().zip(&all) {
        let kinds = [Told::Early, Told::Exact, Told::Late];
        let count = |kind| all.iter().filter(|told| **told == kind).count().to_string();
        let cells = kinds.map(count);
        if peer.peer == Peer::Tidegate {
            let exact = &cells[1];
            ensure!(
                *exact == REFUSALS.to_string(),
                "Tidegate told {exact} of {REFUSALS} exactly: {cells:?}"
            );
        }
        table.row(peer.peer.name(), cells);
    }
    Ok(table)
}

/// One refusal, with another account if what it told could not be said for want of the client's own punctuality.
async fn refusal(peer: &Running, number: usize) -> Result<Told> {
    for attempt in 0..ATTEMPTS {
        let account = format!("account-{number}-{attempt}");
        if let Some(told) = told(peer, &account, u32::try_from(number)?).await? {
            return Ok(told);
        }
    }
    bail!("this machine is too busy to be on time");
}

/// One refusal, some time after its account was drained; none if the client was late.
async fn told(peer: &Running, account: &str, number: u32) -> Result<Option<Told>> {
    let client = Client::h1();
    // Spread over the time that a request comes back in, and not in step with it.
    sleep_until(Instant::now() + Duration::from_millis(7) * number).await;
    for _ in 0..LIMIT.burst {
        peer.ask_by(&client, account).await?;
    }
    sleep_until(Instant::now() + Duration::from_millis(13) * number).await;
    let asked = Instant::now();
    let (status, told) = peer.ask_by(&client, account).await?;
    let refused = Instant::now();
    if status == 200 {
        return Ok(None);
    }
    let told = Duration::from_secs(told.context("no `Retry-After`")?);
    let earlier = told.saturating_sub(SECOND);
    sleep_until(refused + earlier.saturating_sub(MARGIN)).await;
    if peer.ask_by(&client, account).await?.0 == 200 {
        let in_time = asked.elapsed() <= earlier;
        return Ok(in_time.then_some(Told::Late));
    }
    sleep_until(refused + told).await;
    let (status, _) = peer.ask_by(&client, account).await?;
    Ok(Some(if status == 200 {
        Told::Exact
    } else {
        Told::Early
    }))
}
