//! Two hundred requests with one key, at once.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;
use tidegate_e2e::Client;

use super::calls::charge;
use super::stand::{Guard, Stand};

const DUPLICATES: usize = 200;

/// How long the application takes for the charge: longer than it takes to send all of them.
const HOLD: u32 = 1_000;

/// How often the charge was executed, and what the clients got.
pub(super) async fn measure(stand: &Stand) -> Result<(u64, String)> {
    // A connection each, which is there before.
    let clients: Vec<Client> = (0..DUPLICATES).map(|_| Client::h1()).collect();
    for client in &clients {
        client
            .get(stand.envoy.at("/executions/none"))
            .send()
            .await?;
    }
    let calls = clients
        .iter()
        .map(|client| charge(stand, client, "duplicate", HOLD));
    let mut got: BTreeMap<u16, usize> = BTreeMap::new();
    for answer in join_all(calls).await {
        let answer = answer.context(stand.name)?;
        *got.entry(answer.status.as_u16()).or_default() += 1;
    }
    let executions = stand.executions("duplicate").await?;
    if matches!(stand.guard, Guard::Inline | Guard::Detached) {
        ensure!(
            executions == 1,
            "{}: executed {executions} times",
            stand.name
        );
    }
    let got: Vec<String> = got
        .iter()
        .map(|(status, count)| format!("{count} × {status}"))
        .collect();
    Ok((executions, got.join(", ")))
}
