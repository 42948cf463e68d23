//! A source that sends 15 to 350 events a day sends 487,195 in eleven hours, most of them replays under fresh ids.
//!
//! The clock of the module is moved (`dist/tidegate-test.wasm`), so the limits are those of the policy as it lies in policies/.
//! One connection carries all of it in order, so the same seed has the same outcome.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use http::StatusCode;
use serde_json::{Value, json};
use tidegate_e2e::{Envoy, Origin, Reply, eventually, repo};

use crate::chart::{Chart, Ink, Spans};
use crate::incident::{Incident, grouped, share};
use crate::run::{Clock, Run};
use crate::timeline::Timeline;
use crate::wire::{Heard, Wire, in_order};
use crate::{guards, policies};

const EVENTS: u64 = 487_195;
const REPLAYS: u64 = 483_307;
const HOURS: u64 = 11;
/// The limit that was there, in an hour.
const OLD_LIMIT: u64 = 720_000;

/// Which part of the eleven hours is replayed unless all of it is.
const SAMPLE: u64 = 40;

const HOOK: &str = "/hooks/orders/in";
const ALERTS: &str = "/alerts";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// How long the two floods are for which no event comes twice.
const NEW: Duration = Duration::from_secs(5 * 60);

/// How long Envoy may take to tell.
const SOON: Duration = Duration::from_secs(20);

/// How often the first deliveries of an event fail that fails at first, and how many events do so.
const FAILURES: u64 = 3;
const ONE_FAILS_IN: usize = 25;

/// How many events there are whose sender hung up on the first delivery.
const UNFINISHED: usize = 3;

/// A delivery of an event.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    at: Duration,
    tenant: &'static str,
    source: usize,
    event: usize,
    /// The origin fails it.
    fails: bool,
}

/// What became of the deliveries of a part.
#[derive(Clone, Debug, Default)]
struct Outcome {
    sent: u64,
    ran: u64,
    ran_again: u64,
    replays_of_finished: u64,
    collapsed: u64,
    collapsed_unfinished: u64,
    unfinished: u64,
    unfinished_ran: u64,
    refused: u64,
    /// Refusals by what is said to be violated.
    by_source: u64,
    by_ceiling: u64,
    /// Refusals that say no time, or one that no wait of these limits could be.
    odd_waits: u64,
    others_refused: u64,
}

/// The rows of the timeline.
const RAN: usize = 0;
const COLLAPSED: usize = 1;
const REFUSED: usize = 2;
const OTHERS: usize = 3;

/// What one side did.
struct Side {
    flood: Outcome,
    one: Outcome,
    ten: Outcome,
    timeline: Timeline,
    application: u64,
    took: Duration,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let part = if run.full { 1 } else { SAMPLE };
    let plan = Plan::throw(&mut run.dice(4), part);
    let mut policy = policies::load("webhooks")?;
    let added = policies::add(
        &mut policy,
        "",
        "notify",
        json!({
            "cluster": "alerts", "path": ALERTS, "host": "alerts.test", "key_env": "NOTIFY_KEY",
            "after": "1min", "quiet": "30min", "interval": "12h",
        }),
    )?;

    let origin = Origin::start().await?;
    let guard = guards::by_event_id(OLD_LIMIT);
    let envoy = Envoy::builder()
        .origin(&origin)
        .filter_before(guard)
        .without_access_log();
    let envoy = envoy.start().await?;
    let then = plan
        .play(&envoy, &origin)
        .await
        .context("the guards of then")?;
    drop(envoy);

    let origin = Origin::start().await?;
    let receiver = Origin::start().await?;
    receiver.answer(ALERTS, Reply::status(StatusCode::NO_CONTENT));
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(&origin)
        .policy(&policy)
        .module(repo().join("dist/tidegate-test.wasm"))
        .environment("NOTIFY_KEY", SECRET)
        .receiver("alerts", receiver.address())
        .without_access_log();
    let envoy = envoy.start().await?;
    let now = plan.play(&envoy, &origin).await.context("Tidegate")?;
    let told = told(&receiver).await?;
    let after = slows_down(&envoy, plan.end()).await?;

    let mut incident = Incident {
        number: 4,
        title: "The webhook flood",
        story: "A source that sends 15 to 350 events a day sent 487,195 in eleven hours. 483,307 were replays, each under a fresh id: \
                de-duplication by id collapsed none, a limit of 720,000 an hour ran at 7 %, and nobody had a budget per source or tenant.",
        then: "by id, 720,000/h",
        policy: "policies/webhooks",
        scale: vec![
            added,
            if part == 1 {
                "all eleven hours; the module's clock is moved, so nothing of the policy is scaled"
                    .to_owned()
            } else {
                format!(
                    "one {part}th of the eleven hours at its true density; the module's clock is moved, so nothing of the policy is scaled. \
                     `make incidents FULL=1` sends all of it"
                )
            },
            format!(
                "one connection in order, one worker of Envoy for the guards of then; all of it took {:.0} s there and {:.0} s here",
                then.took.as_secs_f64(),
                now.took.as_secs_f64()
            ),
        ],
        rows: Vec::new(),
        chart: None,
    };
    flood(&mut incident, &then.flood, &now.flood, part);
    incident.check(
        "requests that reached the application, in all three floods",
        grouped(then.application),
        grouped(now.application),
        "as many as were answered by it",
        now.application == now.flood.ran + now.one.ran + now.ten.ran + plan.others(),
    );
    budgets(&mut incident, &then, &now);
    incident.check(
        "times the operator was told of the two floods of new events",
        0,
        format!(
            "{} for {} refusals",
            told.len(),
            grouped(now.one.refused + now.ten.refused)
        ),
        "once for each scope",
        scopes(&told) == 2 && told.len() == 2,
    );
    incident.check(
        "the source slows down: admitted when it was told, then at 350 a day",
        "-",
        format!("{} of {}", after.admitted, after.sent),
        "all",
        after.admitted == after.sent,
    );
    incident.chart = Some(Chart {
        along: "minutes: replays under fresh ids, then one source with new events, then ten"
            .to_owned(),
        spans: Spans::Even(plan.span().as_secs_f64() / 60.0),
        up: "deliveries/s",
        then: ("by id, 720,000/h".to_owned(), then.timeline.per_second()),
        now: ("Tidegate".to_owned(), now.timeline.per_second()),
    });
    Ok(incident)
}

/// What is said of the replays.
fn flood(incident: &mut Incident, then: &Outcome, now: &Outcome, part: u64) {
    incident.figure(
        "deliveries of the flood",
        grouped(then.sent),
        grouped(now.sent),
    );
    incident.check(
        "sent in full, or in the sample's part",
        grouped(then.sent),
        grouped(now.sent),
        grouped(EVENTS / part),
        then.sent == EVENTS / part && now.sent == then.sent,
    );
    let hour = EVENTS / HOURS;
    incident.check(
        "how full the limit of 720,000/h was",
        share(hour, OLD_LIMIT),
        "-",
        "silent then",
        then.refused == 0 && then.collapsed == 0,
    );
    incident.check(
        "replays of finished events that ran again",
        grouped(then.ran_again),
        grouped(now.ran_again),
        "0; then all did",
        now.ran_again == 0 && then.ran_again == then.replays_of_finished,
    );
    incident.check(
        "replays of finished events: collapsed, and refused for the budget",
        format!("{}, {}", grouped(then.collapsed), grouped(then.refused)),
        format!(
            "{} of {}, {}",
            grouped(now.collapsed),
            grouped(now.replays_of_finished),
            grouped(now.replays_of_finished - now.collapsed.min(now.replays_of_finished))
        ),
        "all but one in a thousand",
        now.collapsed * 1_000 >= now.replays_of_finished * 999,
    );
    incident.check(
        "answered without the application though the event had not arrived",
        grouped(then.collapsed_unfinished),
        grouped(now.collapsed_unfinished),
        "0",
        now.collapsed_unfinished == 0,
    );
    incident.check(
        "deliveries of failed or unfinished events that ran",
        format!(
            "{} of {}",
            grouped(then.unfinished_ran),
            grouped(then.unfinished)
        ),
        format!(
            "{} of {}",
            grouped(now.unfinished_ran),
            grouped(now.unfinished)
        ),
        "all that were not refused",
        now.unfinished_ran + now.refused - (now.replays_of_finished - now.collapsed)
            == now.unfinished
            && now.unfinished_ran > 0,
    );
}

/// What is said of budgets, where no event comes twice.
fn budgets(incident: &mut Incident, then: &Side, now: &Side) {
    // 30 a minute and 4 at once; 60 a minute and 8 at once.
    let minutes = NEW.as_secs() / 60;
    let (source, ceiling) = (4 + 30 * minutes, 8 + 60 * minutes);
    let near = |found: u64, wanted: u64| found.abs_diff(wanted) * 50 <= wanted;
    incident.check(
        format!("one source, new events at the flood's pace for {minutes} minutes: admitted"),
        format!("{} of {}", grouped(then.one.ran), grouped(then.one.sent)),
        format!("{} of {}", grouped(now.one.ran), grouped(now.one.sent)),
        format!("burst 4 and 30/min: {source}, give or take 2 %"),
        near(now.one.ran, source) && then.one.refused == 0,
    );
    incident.check(
        format!("ten sources under their own limits, 25/min each, for {minutes} minutes: admitted"),
        format!("{} of {}", grouped(then.ten.ran), grouped(then.ten.sent)),
        format!("{} of {}", grouped(now.ten.ran), grouped(now.ten.sent)),
        format!("burst 8 and 60/min: {ceiling}, give or take 2 %"),
        near(now.ten.ran, ceiling) && then.ten.refused == 0,
    );
    incident.check(
        "what refused the ten: the tenant's ceiling, a source's own limit",
        "-",
        format!(
            "{}, {}",
            grouped(now.ten.by_ceiling),
            grouped(now.ten.by_source)
        ),
        "the ceiling alone",
        now.ten.by_source == 0 && now.ten.by_ceiling == now.ten.refused,
    );
    incident.check(
        "refusals without the wait computed in Retry-After",
        "-",
        grouped(now.one.odd_waits + now.ten.odd_waits),
        format!("0 of {}", grouped(now.one.refused + now.ten.refused)),
        now.one.odd_waits + now.ten.odd_waits == 0 && now.one.refused + now.ten.refused > 0,
    );
    let others =
        |side: &Side| side.flood.others_refused + side.one.others_refused + side.ten.others_refused;
    incident.check(
        "refusals of another tenant's source meanwhile",
        grouped(others(then)),
        grouped(others(now)),
        "0",
        others(now) == 0,
    );
}

/// The traffic of all three floods, each in the order in which it is sent.
struct Plan {
    flood: Vec<Delivery>,
    one: Vec<Delivery>,
    ten: Vec<Delivery>,
    length: Duration,
    /// How many events the flood has.
    originals: usize,
}

/// Another tenant's source, which sends as it always does.
const OTHER: &str = "quiet";
/// How far apart its events are: it sends more than anybody normally would, and stays far below its limit.
const OTHER_EVERY: Duration = Duration::from_secs(20);

impl Plan {
    fn throw(dice: &mut Rng, part: u64) -> Self {
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
    fn end(&self) -> Duration {
        self.length + NEW * 2
    }

    /// How long a span of the chart is.
    fn span(&self) -> Duration {
        self.end() / 110
    }

    /// How many deliveries the other tenant's source makes.
    fn others(&self) -> u64 {
        let all = [&self.flood, &self.one, &self.ten];
        let others = all
            .iter()
            .flat_map(|part| part.iter())
            .filter(|delivery| delivery.tenant == OTHER);
        others.count() as u64
    }

    async fn play(&self, envoy: &Envoy, origin: &Origin) -> Result<Side> {
        let rows = [
            ("ran", Ink::Sky),
            ("answered without the application", Ink::Amber),
            ("refused", Ink::Vermilion),
            ("another tenant's source: ran", Ink::Green),
        ];
        let mut timeline = Timeline::new(self.span().as_secs_f64(), 110, &rows);
        for event in 0..UNFINISHED.min(self.originals) {
            hangs_up(envoy, origin, event).await?;
        }
        let before = origin.count(HOOK);
        let mut finished = vec![false; self.originals];
        let clock = Clock::start();
        let mut took = Duration::ZERO;
        let mut outcomes = [Outcome::default(), Outcome::default(), Outcome::default()];
        for (part, outcome) in [&self.flood, &self.one, &self.ten]
            .iter()
            .zip(&mut outcomes)
        {
            let mut failed = Ok(());
            took += in_order(
                &envoy.authority(),
                part.len(),
                |number, bytes| part[number].write(number, clock, bytes),
                |number, heard| {
                    let delivery = part[number];
                    let counted = outcome.count(&delivery, &heard, &mut finished);
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

impl Delivery {
    /// Appends the request; its id is one that no delivery had before.
    fn write(&self, number: usize, clock: Clock, bytes: &mut Vec<u8>) {
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

impl Outcome {
    /// Counts an answer; returns its row in the timeline.
    fn count(
        &mut self,
        delivery: &Delivery,
        heard: &Heard,
        finished: &mut [bool],
    ) -> Result<usize> {
        let ran = !heard.replayed && matches!(heard.status, 200 | 500);
        let refused = heard.status == 429;
        ensure!(
            ran || refused || heard.replayed,
            "a delivery was answered {}: {}",
            heard.status,
            heard.refusal
        );
        if delivery.tenant == OTHER {
            self.others_refused += u64::from(!ran);
            return Ok(OTHERS);
        }
        self.sent += 1;
        if let Some(done) = finished.get_mut(delivery.event) {
            self.replays_of_finished += u64::from(*done);
            self.ran_again += u64::from(*done && ran);
            self.unfinished += u64::from(!*done);
            self.unfinished_ran += u64::from(!*done && ran);
            self.collapsed += u64::from(*done && heard.replayed);
            self.collapsed_unfinished += u64::from(!*done && heard.replayed);
            *done |= ran && heard.status == 200;
        }
        if refused {
            self.refuse(heard)?;
        }
        self.ran += u64::from(ran);
        Ok(match (ran, refused) {
            (true, _) => RAN,
            (_, true) => REFUSED,
            _ => COLLAPSED,
        })
    }

    fn refuse(&mut self, heard: &Heard) -> Result<()> {
        self.refused += 1;
        // A unit comes back in one second, or in two.
        self.odd_waits += u64::from(!matches!(heard.retry_after, Some(1 | 2)));
        let problem: Value = serde_json::from_str(&heard.refusal).context("a refusal")?;
        match problem["violated-policies"].as_array().map(Vec::as_slice) {
            Some([one]) if one == "source" => self.by_source += 1,
            Some([one]) if one == "tenant-ceiling" => self.by_ceiling += 1,
            other => bail!("refused by {other:?}"),
        }
        Ok(())
    }
}

/// The first delivery of an event, whose sender is gone before the answer.
async fn hangs_up(envoy: &Envoy, origin: &Origin, event: usize) -> Result<()> {
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
    .await
}

/// The events that the operator got, all of their beginnings.
async fn told(receiver: &Origin) -> Result<Vec<Value>> {
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

fn scopes(told: &[Value]) -> usize {
    let mut scopes: Vec<String> = told
        .iter()
        .map(|event| event["data"]["scope"].to_string())
        .collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes.len()
}

/// What became of a source that slows down.
struct After {
    sent: u64,
    admitted: u64,
}

/// The source is refused once more, waits as long as it is told, and goes on at the most that it normally sends.
async fn slows_down(envoy: &Envoy, from: Duration) -> Result<After> {
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
        let heard = deliver(at).await?;
        if heard.status == 429 {
            wait = heard.retry_after;
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
