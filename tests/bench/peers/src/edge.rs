//! The most that is admitted within the length of a window, when a client knows where the windows of the clock end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use tidegate_e2e::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::limit::Limit;
use crate::peers::{Behind, Peer, StickTable};
use crate::table::Table;

/// How many are allowed in a window.
const ALLOWED: u32 = 60;

/// How long it is.
const WINDOW: Duration = Duration::from_secs(6);

/// The tenth of it that a bucket is to hold, where it can be told.
const BURST: u32 = 6;

/// What is compared; the last is what a table says of the burst.
const ROWS: [(Peer, u32, &str); 9] = [
    (Peer::LuaWindow, ALLOWED, "no burst to be told"),
    (Peer::Native, ALLOWED, "60"),
    (Peer::Native, BURST, "6"),
    (Peer::Lua, BURST, "6"),
    (Peer::LimitReq, BURST, "6"),
    (
        Peer::StickTable(StickTable::Plain),
        ALLOWED,
        "no burst to be told",
    ),
    (
        Peer::StickTable(StickTable::LooksFirst),
        ALLOWED,
        "no burst to be told",
    ),
    (Peer::Tidegate, ALLOWED, "60"),
    (Peer::Tidegate, BURST, "6"),
];

/// How late a request may go out. The first ones are to be answered before the window ends.
const LATE: Duration = Duration::from_millis(800);

/// How often it is tried.
const TRIES: u32 = 3;

/// How long before a window of the clock ends the first requests are sent.
const BEFORE: u64 = 1_500;

/// The time of all requests: 90 at once, 90 when the window has ended, and then 40 a second until the next has.
fn schedule() -> Vec<Duration> {
    let blast = |from: u64| (0..90).map(move |n| Duration::from_millis(from + 4 * n));
    let steady = (0..210).map(|n| Duration::from_millis(BEFORE + 500 + 25 * n));
    blast(0).chain(blast(BEFORE + 10)).chain(steady).collect()
}

/// All at the same time; again, if this machine was too busy to be on time.
pub(crate) async fn table() -> Result<Table> {
    let mut tries = 1;
    let all = loop {
        let (all, late) = measure().await?;
        if late <= LATE {
            break all;
        }
        let late = late.as_millis();
        ensure!(
            tries < TRIES,
            "requests went out {late} ms late; this machine is too busy"
        );
        eprintln!("bench-peers: requests went out {late} ms late; measured again");
        tries += 1;
    };
    let mut table = Table::new(
        "Most admitted within six seconds, of 60 that are allowed in six seconds and 390 that are asked for",
        &["", "burst", "most in six seconds", "in all 7.25 s"],
    );
    for ((peer, most_at_once, burst), admitted) in ROWS.iter().zip(&all) {
        let most = most(admitted);
        if *peer == Peer::Tidegate {
            // What is sent within six seconds may be asked a little later.
            let bound = usize::try_from(most_at_once + ALLOWED)? + 2;
            ensure!(most <= bound, "Tidegate admitted {most} of {bound}");
        }
        let all = admitted.len().to_string();
        table.row(peer.name(), [(*burst).to_owned(), most.to_string(), all]);
    }
    Ok(table)
}

/// The times of what each admitted, and by how much the latest request was late.
async fn measure() -> Result<(Vec<Vec<Instant>>, Duration)> {
    let mut peers = Vec::new();
    for (peer, burst, _) in ROWS {
        let limit = Limit {
            burst,
            interval: WINDOW / ALLOWED,
            accounts: 4_096,
        };
        let running = peer.start(limit, Behind::Itself, 1).await;
        peers.push(running.context(peer.name())?);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let over = Duration::from_millis(u64::try_from(now.as_millis() % WINDOW.as_millis())?);
    // The end after the next, so that every connection is there before.
    let start = Instant::now() + 2 * WINDOW - over - Duration::from_millis(BEFORE);
    let mut running = JoinSet::new();
    for (index, peer) in peers.into_iter().enumerate() {
        running.spawn(async move {
            let client = Client::h1();
            peer.ask_by(&client, "another").await?;
            let (mut admitted, mut late) = (Vec::new(), Duration::ZERO);
            for at in schedule() {
                sleep_until(start + at).await;
                let sent = Instant::now();
                late = late.max(sent.duration_since(start + at));
                if peer.ask_by(&client, "one").await?.0 == 200 {
                    admitted.push(sent);
                }
            }
            Ok::<_, anyhow::Error>((index, admitted, late))
        });
    }
    let (mut all, mut latest) = (vec![Vec::new(); ROWS.len()], Duration::ZERO);
    while let Some(done) = running.join_next().await {
        let (index, admitted, late) = done??;
        all[index] = admitted;
        latest = latest.max(late);
    }
    Ok((all, latest))
}

/// The most within the length of a window, wherever it begins. Times are in order.
fn most(times: &[Instant]) -> usize {
    let within = |(index, first): (usize, &Instant)| {
        let rest = &times[index..];
        rest.iter().filter(|time| **time < *first + WINDOW).count()
    };
    times.iter().enumerate().map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::most;

    #[test]
    fn the_fullest_window_may_begin_anywhere() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(most(&[at(0), at(5), at(6), at(7), at(20)]), 3);
        assert_eq!(most(&[]), 0);
    }
}
