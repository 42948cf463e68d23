//! What the operator gets to know, and the source that slows down.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_e2e::{Envoy, Origin, eventually};

use super::plan::Delivery;
use super::{ALERTS, SOON};
use crate::run::Clock;
use crate::wire::Wire;

/// The events that the operator got, all of their beginnings.
pub(super) async fn told(receiver: &Origin) -> Result<Vec<Value>> {
    let started = || -> Result<Vec<Value>> {
        let events = receiver.seen(ALERTS).into_iter();
        let events: Vec<Value> = events
            .map(|seen| serde_json::from_slice(&seen.body))
            .collect::<Result<_, _>>()?;
        Ok(events
            .into_iter()
            .filter(|event| event["type"] == "tidegate.refusals.started")
            .collect())
    };
    eventually(SOON, async || {
        let started = started()?;
        ensure!(
            scopes(&started) >= 2,
            "the operator was told of {} scopes",
            scopes(&started)
        );
        Ok(())
    })
    .await?;
    // One more would have come with the next look, a second later.
    tokio::time::sleep(Duration::from_secs(2)).await;
    started()
}

pub(super) fn scopes(told: &[Value]) -> usize {
    let mut scopes: Vec<String> = told
        .iter()
        .map(|event| event["data"]["scope"].to_string())
        .collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes.len()
}

/// What became of a source that slows down.
pub(super) struct After {
    pub(super) sent: u64,
    pub(super) admitted: u64,
}

/// The source is refused once more, waits as long as it is told, and goes on at the most that it normally sends.
pub(super) async fn slows_down(envoy: &Envoy, from: Duration) -> Result<After> {
    let clock = Clock::start();
    // The clock was started anew, so it begins where the other ended and some more.
    let mut at = from + Duration::from_secs(3_600);
    let mut event = 3_000_000;
    let mut deliver = async |at: Duration| {
        event += 1;
        let delivery = Delivery {
            at,
            tenant: "umbrella",
            source: 0,
            event,
            fails: false,
        };
        let mut bytes = Vec::new();
        delivery.write(event, clock, &mut bytes);
        let mut wire = Wire::open(&envoy.authority()).await?;
        wire.send(&bytes).await?;
        wire.hear().await
    };
    let mut wait = None;
    for _ in 0..10 {
        let sent = Instant::now();
        let heard = deliver(at).await?;
        if heard.status == 429 {
            wait = heard.retry_after;
            // It waits from when it is told, however long that took.
            at += sent.elapsed();
            break;
        }
    }
    at += Duration::from_secs(wait.context("the source is not refused")?);
    let mut after = After {
        sent: 0,
        admitted: 0,
    };
    for _ in 0..12 {
        after.sent += 1;
        after.admitted += u64::from(deliver(at).await?.status == 200);
        at += Duration::from_secs(86_400 / 350);
    }
    Ok(after)
}
