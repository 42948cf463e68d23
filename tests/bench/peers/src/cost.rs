//! CPU time of a request, and of a refusal; and how long a request takes at a fixed load.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use tidegate_e2e::bench::{LeanOrigin, Load, Thread, added, median, times, turns};

use crate::limit::Limit;
use crate::peers::{Behind, Peer, Running, StickTable};
use crate::requests;
use crate::steady;
use crate::table::Table;

/// So many that each has a bucket of its own, and few enough that each comes back.
const ACCOUNTS: u32 = 1_000;

/// Twice as many and more, as Tidegate's reference asks for.
const ROOM: u32 = 4_096;

/// What is measured; the bare proxies are what the others are compared with.
const ROWS: [(Peer, bool); 14] = [
    (Peer::Envoy, false),
    (Peer::Nginx, false),
    (Peer::Haproxy, false),
    (Peer::Native, false),
    (Peer::Lua, false),
    (Peer::LimitReq, false),
    (Peer::StickTable(StickTable::Plain), false),
    (Peer::Tidegate, false),
    (Peer::TidegateThree, false),
    (Peer::Native, true),
    (Peer::Lua, true),
    (Peer::LimitReq, true),
    (Peer::StickTable(StickTable::Plain), true),
    (Peer::Tidegate, true),
];

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How often each row is measured.
    pub(crate) rounds: usize,
    /// How many requests make one measurement of CPU time.
    pub(crate) requests: u32,
    /// How often each row is measured at a fixed load.
    pub(crate) steady_rounds: usize,
    /// How many requests a second that is.
    pub(crate) rate: u32,
    /// For how long.
    pub(crate) time: Duration,
}

/// A row whose proxy is up and has served its first requests.
struct Row {
    running: Running,
    refused: bool,
    worker: Thread,
    load: Load,
    nanos: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    late: Histogram<u64>,
}

/// Measures all rows, interleaved.
pub(crate) async fn tables(effort: Effort) -> Result<Vec<Table>> {
    let origin = LeanOrigin::start().await?;
    let mut rows = Vec::new();
    for (peer, refused) in ROWS {
        let row = Row::start(peer, refused, &origin).await;
        rows.push(row.context(peer.name())?);
    }
    for index in turns(effort.rounds, rows.len()) {
        let row = &mut rows[index];
        let done = row.spend(effort.requests, &origin).await;
        done.context(row.running.peer.name())?;
    }
    let served = rows.iter().filter(|row| !row.refused).count();
    for index in turns(effort.steady_rounds, served) {
        let row = &mut rows[index];
        let done = row.wait(effort).await;
        done.context(row.running.peer.name())?;
    }
    Ok(vec![
        spent(&rows, |row| !row.refused, "CPU time of an admitted request"),
        spent(&rows, |row| row.refused, "CPU time of a refusal"),
        waited(&rows[..served]),
    ])
}

impl Row {
    async fn start(peer: Peer, refused: bool, origin: &LeanOrigin) -> Result<Self> {
        let limit = if refused {
            Limit::one()
        } else {
            Limit::wide(ROOM)
        };
        let behind = Behind::Origin(origin.address());
        let running = peer.start(limit, behind, 1).await?;
        let accounts = if refused { 1 } else { ACCOUNTS };
        let mut load = Load::connect(&running.authority(), move |turn, _, request| {
            requests::write(turn % accounts, request);
        })
        .await?;
        load.warm().await?;
        Ok(Self {
            worker: running.worker()?,
            running,
            refused,
            load,
            nanos: Vec::new(),
            p50: Vec::new(),
            p99: Vec::new(),
            late: steady::histogram()?,
        })
    }

    /// One measurement of CPU time.
    async fn spend(&mut self, requests: u32, origin: &LeanOrigin) -> Result<()> {
        let served = origin.served();
        let before = self.worker.nanos()?;
        let statuses = self.load.send(requests).await?;
        let after = self.worker.nanos()?;
        let served = origin.served() - served;
        if self.refused {
            // One a minute is let through.
            let most = requests / 100;
            let refused = statuses.of(429);
            ensure!(refused >= requests - most, "{refused} were refused");
        } else {
            statuses.all(200)?;
            ensure!(served == u64::from(requests), "{served} were passed on");
        }
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let spent = (after - before) as f64;
        self.nanos.push(spent / f64::from(requests));
        Ok(())
    }

    /// One measurement at a fixed load.
    async fn wait(&mut self, effort: Effort) -> Result<()> {
        let authority = self.running.authority();
        let write = |turn: u32, request: &mut Vec<u8>| requests::write(turn % ACCOUNTS, request);
        let late = steady::run(&authority, effort.rate, effort.time, 200, write).await?;
        self.p50.push(nanos(&late, 0.5));
        self.p99.push(nanos(&late, 0.99));
        self.late.add(late)?;
        Ok(())
    }
}

fn spent(rows: &[Row], of: fn(&Row) -> bool, title: &'static str) -> Table {
    let head = [
        "",
        "µs",
        "times Envoy alone",
        "times its own proxy alone",
        "added to that, µs",
    ];
    let mut table = Table::new(title, &head);
    let envoy = &rows[0].nanos;
    for row in rows.iter().filter(|row| of(row)) {
        let bare = bare(rows, row.running.peer);
        table.row(
            row.running.peer.name(),
            [
                format!("{:.1}", median(&row.nanos) / 1e3),
                format!("{:.2}", times(&row.nanos, envoy)),
                format!("{:.2}", times(&row.nanos, &bare.nanos)),
                format!("{:+.1}", added(&row.nanos, &bare.nanos) / 1e3),
            ],
        );
    }
    table
}

fn waited(rows: &[Row]) -> Table {
    let head = [
        "",
        "p50, µs",
        "p99, µs",
        "p50, times its own proxy alone",
        "p99, times its own proxy alone",
    ];
    let mut table = Table::new("How long a request takes at a fixed load", &head);
    for row in rows {
        let bare = bare(rows, row.running.peer);
        table.row(
            row.running.peer.name(),
            [
                format!("{:.0}", nanos(&row.late, 0.5) / 1e3),
                format!("{:.0}", nanos(&row.late, 0.99) / 1e3),
                format!("{:.2}", times(&row.p50, &bare.p50)),
                format!("{:.2}", times(&row.p99, &bare.p99)),
            ],
        );
    }
    table
}

/// The row of the same proxy without a limiter.
fn bare(rows: &[Row], peer: Peer) -> &Row {
    let bare = rows.iter().find(|row| row.running.peer == peer.bare());
    bare.unwrap_or(&rows[0])
}

fn nanos(late: &Histogram<u64>, quantile: f64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let nanos = late.value_at_quantile(quantile) as f64;
    nanos
}
