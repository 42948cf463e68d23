//! The memory that accounts take.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::fill::{Statuses, fill};
use crate::limit::Limit;
use crate::peers::{Behind, Memory, Peer, Running, StickTable};
use crate::table::{Table, thousands};

/// The most that Tidegate has room for in one limit.
const MOST: u32 = 1_048_576;

/// What its limit has room for unless the policy says otherwise.
const USUAL: u32 = 65_536;

/// What is compared, and the room that it has; the Lua bucket knows none.
const ROWS: [(Peer, u32); 9] = [
    (Peer::Native, MOST),
    (Peer::Lua, MOST),
    (Peer::LimitReq, MOST),
    (Peer::StickTable(StickTable::Plain), MOST),
    (Peer::StickTable(StickTable::LooksFirst), MOST),
    (Peer::StickTable(StickTable::Keeps), MOST),
    (Peer::StickTable(StickTable::Strict), USUAL),
    (Peer::Tidegate, MOST),
    (Peer::Tidegate, USUAL),
];

/// Before the first look: connections, compiled code and the workers' own memory are there.
const WARM: u32 = 2_000;

/// Lets 100,000 accounts come, and then so many in all, each once.
pub(crate) async fn table(accounts: u32) -> Result<Table> {
    let mut table = Table::new(
        "The start, and the memory that accounts take, MB",
        &[
            "",
            "up after, s",
            "before",
            "room for",
            "100,000 accounts",
            "1,000,000 accounts",
            "refused for want of room",
        ],
    );
    for (peer, room) in ROWS {
        let row = row(peer, room, accounts).await.context(peer.name())?;
        table.row(peer.name(), row);
    }
    Ok(table)
}

async fn row(peer: Peer, room: u32, accounts: u32) -> Result<Vec<String>> {
    let start = Instant::now();
    let running = peer.start(Limit::ten(room), Behind::Itself, 1).await?;
    let up = start.elapsed().as_secs_f64();
    fill(&running, 0..WARM).await?;
    let before = Held::of(&running).await?;
    let first = fill(&running, WARM..WARM + 100_000).await?;
    let few = Held::of(&running).await?;
    let (rest, many) = if accounts > 100_000 {
        let rest = fill(&running, WARM + 100_000..WARM + accounts).await?;
        (rest, Some(Held::of(&running).await?))
    } else {
        (Statuses::new(), None)
    };
    let refused = |statuses: &Statuses| statuses.get(&429).copied().unwrap_or(0);
    Ok(vec![
        format!("{up:.1}"),
        format!("{:.1}", megabytes(before.memory.all)),
        if peer == Peer::Lua {
            "no bound".to_owned()
        } else {
            thousands(room)
        },
        few.since(&before),
        many.map_or("not measured".to_owned(), |many| many.since(&before)),
        thousands(refused(&first) + refused(&rest)),
    ])
}

/// What a proxy holds.
struct Held {
    memory: Memory,
    /// Of an Envoy, what its allocator has given out.
    heap: Option<u64>,
}

impl Held {
    async fn of(running: &Running) -> Result<Self> {
        let heap = match running.envoy() {
            Some(envoy) => Some(envoy.heap_bytes().await?),
            None => None,
        };
        Ok(Self {
            memory: running.memory()?,
            heap,
        })
    }

    /// By how much more that is, in MB.
    fn since(&self, before: &Self) -> String {
        let memory = megabytes(self.memory.own) - megabytes(before.memory.own);
        match (self.heap, before.heap) {
            (Some(after), Some(before)) => {
                let heap = megabytes(after) - megabytes(before);
                format!("{memory:+.1} (heap {heap:+.1})")
            }
            _ => format!("{memory:+.1}"),
        }
    }
}

fn megabytes(bytes: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = bytes as f64;
    bytes / 1e6
}
