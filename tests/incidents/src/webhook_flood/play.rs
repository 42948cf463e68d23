//! The traffic as it is sent to one side.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Result, ensure};
use tidegate_e2e::{Envoy, Origin, eventually};

use super::outcome::Outcome;
use super::plan::{Delivery, Plan};
use super::wait::Buckets;
use super::{HOOK, SOON};
use crate::chart::Ink;
use crate::run::Clock;
use crate::timeline::Timeline;
use crate::wire::{Wire, in_order};

/// How many events there are whose sender hung up on the first delivery.
const UNFINISHED: usize = 3;

/// What one side did.
pub(super) struct Side {
    pub(super) flood: Outcome,
    pub(super) one: Outcome,
    pub(super) ten: Outcome,
    pub(super) timeline: Timeline,
    pub(super) application: u64,
    pub(super) took: Duration,
}

impl Plan {
    /// Sends all of it.
    pub(super) async fn play(&self, envoy: &Envoy, origin: &Origin) -> Result<Side> {
        let rows = [
            ("ran", Ink::Sky),
            ("answered without the application", Ink::Amber),
            ("refused", Ink::Vermilion),
            ("another tenant's source: ran", Ink::Green),
        ];
        let mut timeline = Timeline::new(self.span().as_secs_f64(), 110, &rows);
        let mut buckets = Buckets::default();
        let clock = Clock::start();
        for event in 0..UNFINISHED.min(self.originals) {
            let written = clock.elapsed();
            let delivery = hangs_up(envoy, origin, event).await?;
            buckets.charge(&delivery, clock.span(delivery.at, written));
        }
        let before = origin.count(HOOK);
        let mut finished = vec![false; self.originals];
        let mut took = Duration::ZERO;
        let mut outcomes = [Outcome::default(), Outcome::default(), Outcome::default()];
        for (part, outcome) in [&self.flood, &self.one, &self.ten]
            .iter()
            .zip(&mut outcomes)
        {
            let mut failed = Ok(());
            let written = Cell::new(Duration::ZERO);
            took += in_order(
                &envoy.authority(),
                part.len(),
                |number, bytes| {
                    written.set(clock.elapsed());
                    part[number].write(number, clock, bytes);
                },
                |number, heard| {
                    let delivery = part[number];
                    let when = clock.span(delivery.at, written.get());
                    let counted =
                        outcome.count(&delivery, &heard, when, &mut finished, &mut buckets);
                    match counted {
                        Ok(row) => timeline.add(row, delivery.at.as_secs_f64()),
                        Err(error) if failed.is_ok() => failed = Err(error),
                        Err(_) => {}
                    }
                },
            )
            .await?;
            failed?;
        }
        let [flood, one, ten] = outcomes;
        let application = origin.count(HOOK) - before;
        Ok(Side {
            flood,
            one,
            ten,
            timeline,
            application,
            took,
        })
    }
}

/// The first delivery of an event, whose sender is gone before the answer.
async fn hangs_up(envoy: &Envoy, origin: &Origin, event: usize) -> Result<Delivery> {
    let delivery = Delivery {
        at: Duration::ZERO,
        tenant: "acme",
        source: 0,
        event,
        fails: false,
    };
    let before = origin.count(HOOK);
    let body = format!(r#"{{"event":{{"id":"evt-{event:08}"}},"delivery":"first"}}"#);
    let head = format!(
        "POST {HOOK} HTTP/1.1\r\nhost: hooks.test\r\nx-tenant-id: acme\r\nx-source-token: source-0\r\nwebhook-id: gone-{event}\r\n\
         x-incident-at-ms: 0\r\ncontent-type: application/json\r\nx-origin-respond-after: 1000\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut wire = Wire::open(&envoy.authority()).await?;
    wire.send(head.as_bytes()).await?;
    eventually(SOON, async || {
        ensure!(
            origin.count(HOOK) > before,
            "the first delivery has not arrived"
        );
        Ok(())
    })
    .await?;
    Ok(delivery)
}
