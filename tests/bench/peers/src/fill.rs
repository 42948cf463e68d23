//! Many accounts at little cost: a few connections, on each a batch of requests that goes out in one write.
//!
//! An Envoy that answers a request itself closes the connection on those behind it, so it gets one at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result};

use crate::answers::Connection;
use crate::peers::Running;
use crate::requests;

const CONNECTIONS: usize = 12;

/// How many requests are on their way on one connection.
const BATCH: usize = 32;

/// How often each status came.
pub(crate) type Statuses = BTreeMap<u16, u32>;

/// Sends one request of each of these accounts.
pub(crate) async fn fill(peer: &Running, accounts: Range<u32>) -> Result<Statuses> {
    let size = if peer.envoy().is_some() { 1 } else { BATCH };
    let mut running = Vec::new();
    for first in 0..CONNECTIONS {
        let mut connection = Connection::open(&peer.authority())?;
        let accounts: Vec<u32> = accounts.clone().skip(first).step_by(CONNECTIONS).collect();
        running.push(tokio::task::spawn_blocking(move || {
            let mut statuses = Statuses::new();
            let (mut batch, mut request) = (Vec::new(), Vec::new());
            for accounts in accounts.chunks(size) {
                batch.clear();
                for account in accounts {
                    requests::write(*account, &mut request);
                    batch.extend(&request);
                }
                connection.send(&batch)?;
                for account in accounts {
                    let status = connection.status();
                    let status = status.with_context(|| format!("account {account}"))?;
                    *statuses.entry(status).or_default() += 1;
                }
            }
            Ok::<_, anyhow::Error>(statuses)
        }));
    }
    let mut all = Statuses::new();
    for done in running {
        for (status, count) in done.await?? {
            *all.entry(status).or_default() += count;
        }
    }
    Ok(all)
}
