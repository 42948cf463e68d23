//! The traffic: whose deliveries come when.

use std::time::Duration;

use fastrand::Rng;

use super::{EVENTS, HOOK, HOURS, NEW, REPLAYS};
use crate::run::Clock;

/// How often the first deliveries of an event fail that fails at first, and how many events do so.
const FAILURES: u64 = 3;
const ONE_FAILS_IN: usize = 25;

/// Another tenant's source, which sends as it always does.
pub(super) const OTHER: &str = "quiet";
/// How far apart its events are: it sends more than anybody normally would, and stays far below its limit.
const OTHER_EVERY: Duration = Duration::from_secs(20);

/// A delivery of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) at: Duration,
    pub(super) tenant: &'static str,
    pub(super) source: usize,
    pub(super) event: usize,
    /// The origin fails it.
    pub(super) fails: bool,
}

/// The traffic of all three floods, each in the order in which it is sent.
pub(super) struct Plan {
    pub(super) flood: Vec<Delivery>,
    pub(super) one: Vec<Delivery>,
    pub(super) ten: Vec<Delivery>,
    pub(super) length: Duration,
    /// How many events the flood has.
    pub(super) originals: usize,
}

impl Plan {
    pub(super) fn throw(dice: &mut Rng, part: u64) -> Self {
        let length = Duration::from_secs(HOURS * 3_600 / part);
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let originals = count((EVENTS - REPLAYS) / part);
        let replays = count(EVENTS / part) - originals;
        let mut flood = first(dice, originals, length);
        // Each replay is one of an event that is there by then.
        let begins: Vec<Duration> = flood.iter().map(|delivery| delivery.at).collect();
        for _ in 0..replays {
            let at = begins[0] + (length - begins[0]).mul_f64(dice.f64());
            let there = begins.partition_point(|begin| *begin <= at);
            let event = dice.usize(..there);
            flood.push(Delivery {
                at,
                tenant: "acme",
                source: 0,
                event,
                fails: false,
            });
        }
        flood.sort_by_key(|delivery| delivery.at);
        let mut deliveries = vec![0; originals];
        for delivery in &mut flood {
            let number: &mut u64 = &mut deliveries[delivery.event];
            delivery.fails =
                delivery.event % ONE_FAILS_IN == ONE_FAILS_IN - 1 && *number < FAILURES;
            *number += 1;
        }
        // No event of these comes twice, so each has a number of its own.
        let pace = NEW.div_f64(EVENTS as f64 / (HOURS * 60) as f64 * NEW.as_secs_f64() / 60.0);
        let evenly = |every: Duration, tenant: &'static str, sources: usize, from: usize| {
            let many = count((NEW.as_nanos() / every.as_nanos()) as u64);
            let deliveries = (0..many).map(move |n| Delivery {
                at: every * u32::try_from(n).unwrap_or(u32::MAX),
                tenant,
                source: n % sources,
                event: from + n,
                fails: false,
            });
            deliveries.collect::<Vec<_>>()
        };
        let one = evenly(pace, "umbrella", 1, 1_000_000);
        let ten = evenly(Duration::from_secs(60) / 250, "initech", 10, 2_000_000);
        let mut plan = Self {
            flood,
            one,
            ten,
            length,
            originals,
        };
        for (part, length) in [
            (&mut plan.flood, length),
            (&mut plan.one, NEW),
            (&mut plan.ten, NEW),
        ] {
            quietly(part, length);
        }
        let (flood, one) = (plan.length, plan.length + NEW);
        plan.one
            .iter_mut()
            .for_each(|delivery| delivery.at += flood);
        plan.ten.iter_mut().for_each(|delivery| delivery.at += one);
        plan
    }

    /// When all of it is over.
    pub(super) fn end(&self) -> Duration {
        self.length + NEW * 2
    }

    /// How long a span of the chart is.
    pub(super) fn span(&self) -> Duration {
        self.end() / 110
    }

    /// How many deliveries the other tenant's source makes.
    pub(super) fn others(&self) -> u64 {
        let all = [&self.flood, &self.one, &self.ten];
        let others = all
            .iter()
            .flat_map(|part| part.iter())
            .filter(|delivery| delivery.tenant == OTHER);
        others.count() as u64
    }
}

impl Delivery {
    /// Appends the request; its id is one that no delivery had before.
    pub(super) fn write(&self, number: usize, clock: Clock, bytes: &mut Vec<u8>) {
        let Self {
            at,
            tenant,
            source,
            event,
            fails,
        } = self;
        let body = format!(
            r#"{{"event":{{"id":"evt-{event:08}","type":"order.changed"}},"delivery":"{number:08}"}}"#
        );
        let fails = if *fails {
            "x-origin-respond-status: 500\r\n"
        } else {
            ""
        };
        let request = format!(
            "POST {HOOK} HTTP/1.1\r\nhost: hooks.test\r\nx-tenant-id: {tenant}\r\nx-source-token: source-{source}\r\n\
             webhook-id: {tenant}-{event}-{number}\r\ncontent-type: application/json\r\n{fails}{}content-length: {}\r\n\r\n{body}",
            clock.lines(*at),
            body.len(),
        );
        bytes.extend_from_slice(request.as_bytes());
    }
}

/// The first delivery of each event, about evenly over the time; those whose sender hung up are there from the start.
fn first(dice: &mut Rng, originals: usize, length: Duration) -> Vec<Delivery> {
    let slot = length / u32::try_from(originals).unwrap_or(u32::MAX);
    let first = |event: usize| Delivery {
        at: slot * u32::try_from(event).unwrap_or(u32::MAX) + slot.mul_f64(dice.f64()),
        tenant: "acme",
        source: 0,
        event,
        fails: false,
    };
    (0..originals).map(first).collect()
}

/// Adds the deliveries of the other tenant's source, between the others.
fn quietly(part: &mut Vec<Delivery>, length: Duration) {
    let first = part
        .iter()
        .map(|delivery| delivery.event)
        .max()
        .unwrap_or(0)
        + 1;
    for n in 0..length.as_secs() / OTHER_EVERY.as_secs() {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        part.push(Delivery {
            at: OTHER_EVERY * n,
            tenant: OTHER,
            source: 0,
            event: first + n as usize + 10_000_000,
            fails: false,
        });
    }
    part.sort_by_key(|delivery| delivery.at);
}
