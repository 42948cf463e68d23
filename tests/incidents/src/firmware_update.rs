//! One partner's fleet goes from 40 to 1,600 requests/s within 90 s and stays there.
//!
//! This one runs by the real clock, for it is about waiting. Rates and limits are divided by the same number, so their ratios are the
//! true ones; the ramp and the window of the guard of then are both fifteen times as short.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::json;
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Envoy, Origin};
use tokio::time::{Instant, sleep};

use crate::chart::{Chart, Ink, Spans};
use crate::incident::{Incident, grouped};
use crate::pace::{Landed, Load, Shot, p99};
use crate::run::Run;
use crate::timeline::Timeline;
use crate::{guards, policies};

/// The true figures: requests and admissions a second.
const CALM: u64 = 40;
const SPIKE: u64 = 1_600;
const RATE: u64 = 100;
const BURST: u64 = 200;
const OTHERS: u64 = 20;

/// By how much rates are divided, so that two slow cores can send and serve them beside each other.
const SAMPLE: u64 = 10;

/// Time, fifteen times as short: the ramp of 90 s, and the guard's window of a minute. What is before and after has no true length.
const BEFORE: Duration = Duration::from_secs(3);
const RAMP: Duration = Duration::from_secs(6);
const PLATEAU: Duration = Duration::from_secs(9);
const WINDOW: Duration = Duration::from_secs(4);
const SHORTER: u32 = 15;

/// How long the load without the spike is watched, before the spike and after it.
const CALM_RUN: Duration = Duration::from_secs(6);

/// The whole of a run with the spike, and of one that nothing is made of.
const FLOOD: Duration = BEFORE.saturating_add(RAMP).saturating_add(PLATEAU);
const WARM_UP: Duration = Duration::from_secs(1);

/// How often the p99 is looked at again. A flood that slows others down does so each time; another program on the machine does not.
const ROUNDS: usize = 3;

/// How long before an edge of the guard's window the ramp begins: so that a window's worth fits between, and the next after.
const TO_EDGE: Duration = Duration::from_millis(1_600);

/// How long a span of the chart is, in seconds.
const SPAN: f64 = 0.5;

/// The trickle is looked at in spans this long: a machine that holds the client up for a part of one changes little.
const LOOK: Duration = Duration::from_secs(2);

/// The waits of the fleet are all the shortest that `Retry-After` can say: a unit is back sooner.
const WAIT: Duration = Duration::from_secs(1);

/// What one side did.
struct Side {
    fleet: Vec<Landed>,
    others: Vec<Landed>,
}

/// Rates of this run.
#[derive(Clone, Copy)]
struct Rates {
    calm: u64,
    spike: u64,
    rate: u64,
    burst: u64,
}

impl Rates {
    /// How many units come back in this time, a part of one included.
    fn refill(self, time: Duration) -> u64 {
        (self.rate as f64 * time.as_secs_f64()).ceil() as u64
    }

    /// The most that may be admitted in this time.
    fn most(self, time: Duration) -> u64 {
        self.burst + self.refill(time)
    }

    /// How many may be seen admitted within [`LOOK`] of a bucket that the whole fleet asks, where the longest answer took `longest`.
    ///
    /// Such a bucket was empty for whoever was refused last, and gives what comes back since to whoever comes next. What is seen was
    /// decided up to `longest` before, at either end; and the next one is as late as that at most, from when he is due.
    fn trickle(self, longest: Duration) -> RangeInclusive<u64> {
        let next = Duration::from_secs(1) / u32::try_from(self.spike).unwrap_or(u32::MAX);
        let doubt = (longest + next) * 2;
        let least = self.refill(LOOK.saturating_sub(doubt)).saturating_sub(1);
        least..=self.refill(LOOK + doubt) + 1
    }
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let rates = Rates {
        calm: CALM / SAMPLE,
        spike: SPIKE / SAMPLE,
        rate: RATE / SAMPLE,
        burst: BURST / SAMPLE,
    };
    let mut policy = policies::load("partners")?;
    let mut scale = vec![format!(
        "the ramp of 90 s takes {} s, and the window of a minute {} s: {SHORTER} times as short; the real clock",
        RAMP.as_secs(),
        WINDOW.as_secs()
    )];
    scale.push(format!(
        "all rates divided by {SAMPLE}: {} to {} requests/s",
        rates.calm, rates.spike
    ));
    scale.push(policies::change(
        &mut policy,
        "/limits/partner/rate",
        json!(format!("{}/s", rates.rate)),
    )?);
    scale.push(policies::change(
        &mut policy,
        "/limits/partner/burst",
        json!(rates.burst),
    )?);
    let mut dice = run.dice(2);
    let in_window = rates.rate * WINDOW.as_secs();

    let origin = Origin::start().await?;
    let partner = "handle:streamInfo():dynamicMetadata():get(\"envoy.filters.http.jwt_authn\")[\"jwt_payload\"][\"partner\"]";
    let guard = guards::fixed_window(partner, in_window, WINDOW.as_millis() as u64);
    let window = Gate::start(Envoy::builder().origin(&origin).filter_before(guard)).await?;
    to_edge().await?;
    let then = send(&window, &window, rates, &mut dice, FLOOD, true)
        .await
        .context("the fixed window")?;
    drop(window);

    let start = || {
        Gate::start(
            Envoy::builder()
                .concurrency(2)
                .origin(&origin)
                .policy(&policy),
        )
    };
    let gate = start().await?;
    // The first requests make connections and warm everything up.
    send(&gate, &gate, rates, &mut dice, WARM_UP, false).await?;
    let (mut rounds, mut twin) = (Vec::new(), None);
    let now = loop {
        let before = without(&gate, twin.as_ref(), rates, &mut dice).await?;
        let flood = send(&gate, &gate, rates, &mut dice, FLOOD, true).await?;
        let after = without(&gate, twin.as_ref(), rates, &mut dice).await?;
        let round = Round::of(&before, &flood, &after, twin.is_some());
        rounds.push(round);
        if round.holds() || rounds.len() == ROUNDS {
            break flood;
        }
        if twin.is_none() {
            twin = Some(start().await?);
        }
    };

    scale.push("one worker of Envoy for the fixed window, for each would count for itself; two for Tidegate".to_owned());
    let mut incident = Incident {
        number: 2,
        title: "The firmware update",
        story: "One partner's fleet went from 40 to 1,600 requests/s within 90 s and stayed there. A fixed window alternates between \
                all-pass and all-429, and lets through twice the limit across a window's edge.",
        then: "fixed window",
        policy: "policies/partners",
        scale,
        rows: Vec::new(),
        chart: None,
    };
    compare(&mut incident, &then, &now, rates);
    latency(&mut incident, &then, &rounds);
    incident.chart = Some(Chart {
        along: "seconds, fifteen of them in one".to_owned(),
        spans: Spans::Even(SPAN),
        up: "requests/s",
        then: ("fixed window".to_owned(), lines(&then)),
        now: ("Tidegate".to_owned(), lines(&now)),
    });
    Ok(incident)
}

fn compare(incident: &mut Incident, then: &Side, now: &Side, rates: Rates) {
    let sent =
        |side: &Side| grouped(side.fleet.iter().filter(|one| !one.shot.again).count() as u64);
    incident.figure(
        "requests of the fleet, but for those that came again",
        sent(then),
        sent(now),
    );
    // What is seen within some time was decided within that and the longest that an answer took.
    let longest = now.fleet.iter().map(Landed::took).max().unwrap_or_default();
    let admitted = |side: &Side| side.fleet.iter().filter(|one| one.status == 200).count() as u64;
    let all = rates.most(FLOOD + longest);
    incident.check(
        "of the fleet, admitted",
        grouped(admitted(then)),
        grouped(admitted(now)),
        format!("now burst and rate alone, {all} at most"),
        admitted(now) <= all,
    );

    let limit = rates.rate * WINDOW.as_secs();
    let (across_then, across_now) = (most_within(then), most_within(now));
    let most = rates.most(WINDOW + longest);
    incident.check(
        format!(
            "most admitted in any {} s, of {limit} that the rate gives",
            WINDOW.as_secs()
        ),
        format!(
            "{across_then} ({:.2} times)",
            across_then as f64 / limit as f64
        ),
        format!(
            "{across_now} ({:.2} times)",
            across_now as f64 / limit as f64
        ),
        format!("then more than 1.7 times; now burst and rate alone, {most} at most"),
        across_then as f64 > 1.7 * limit as f64 && across_now <= most,
    );
    let (quiet_then, loud_then) = extremes(then);
    let (quiet_now, loud_now) = extremes(now);
    let refill = rates.rate * LOOK.as_secs();
    let trickle = rates.trickle(longest);
    incident.check(
        format!(
            "admitted within {} s under the flood, least and most, of {refill} that come back",
            LOOK.as_secs()
        ),
        format!("{quiet_then} and {loud_then}"),
        format!("{quiet_now} and {loud_now}"),
        format!(
            "then under a tenth of it at times; now what comes back alone, {} to {}",
            trickle.start(),
            trickle.end()
        ),
        quiet_then * 10 < refill && trickle.contains(&quiet_now) && trickle.contains(&loud_now),
    );
    let refused = |side: &Side| side.others.iter().filter(|one| one.status != 200).count();
    incident.check(
        format!(
            "429s of {OTHERS} other partners, of {} requests",
            grouped(now.others.len() as u64)
        ),
        refused(then),
        refused(now),
        "0",
        refused(now) == 0,
    );
    let refusals = now.fleet.iter().filter(|one| one.status == 429);
    let wait = Some(WAIT.as_secs());
    let odd = refusals.filter(|one| one.retry_after != wait).count();
    incident.check(
        "refusals whose Retry-After is not a second, within which a unit is back",
        "-",
        odd,
        "0",
        odd == 0,
    );
    // Who all wait as long as each other come again as they were refused, and were refused as they came.
    let second = Duration::from_secs(1);
    let came = most_that_come(now, false, second + longest);
    let (wave_then, wave_now) = (wave(then), most_that_come(now, true, second));
    incident.check(
        "who waits as told: most that come again in a second, to most that come first",
        format!("{wave_then:.1} times"),
        format!("{:.1} times", wave(now)),
        format!(
            "then a wave, over 2 times; now {wave_now} of {came} at most, who come first in a second and the {:.0} ms of an answer",
            millis(longest)
        ),
        wave_then > 2.0 && wave_now <= came,
    );
}

/// The p99 of the others, in milliseconds: before the flood, under it, and after it.
#[derive(Clone, Copy)]
struct Round {
    before: f64,
    flood: f64,
    after: f64,
    /// Before and after, a flood went to another Envoy.
    elsewhere: bool,
}

impl Round {
    fn of(before: &Side, flood: &Side, after: &Side, elsewhere: bool) -> Self {
        let without = |side: &Side| {
            if elsewhere {
                under_flood(side)
            } else {
                millis(p99(side.others.iter()))
            }
        };
        Self {
            before: without(before),
            flood: under_flood(flood),
            after: without(after),
            elsewhere,
        }
    }

    /// What the noise allows: the larger of two runs of the same load, times what they differ by, and twofold at least.
    fn bound(self) -> f64 {
        let (less, more) = (self.before.min(self.after), self.before.max(self.after));
        more * (more / less.max(0.001)).max(2.0)
    }

    fn holds(self) -> bool {
        self.flood <= self.bound()
    }
}

/// The load of the others without a flood at their gate. Where the machine is short of time, a flood costs everybody some wherever
/// it goes: then one that goes to `twin` meanwhile, another Envoy, is what to compare with.
async fn without(gate: &Gate, twin: Option<&Gate>, rates: Rates, dice: &mut Rng) -> Result<Side> {
    match twin {
        Some(twin) => send(twin, gate, rates, dice, FLOOD, true).await,
        None => send(gate, gate, rates, dice, CALM_RUN, false).await,
    }
}

/// What others waited.
fn latency(incident: &mut Incident, then: &Side, rounds: &[Round]) {
    let Some(last) = rounds.last() else { return };
    if last.elsewhere {
        let first = rounds[0];
        incident.figure(
            "p99 of the others under the flood; before and after it, in the first round",
            "",
            format!(
                "{:.1} ms; {:.1} and {:.1} ms",
                first.flood, first.before, first.after
            ),
        );
    }
    let without = if last.elsewhere {
        "under a flood at another Envoy"
    } else {
        "without a flood"
    };
    incident.check(
        format!("p99 of the others under the flood; {without}, before and after"),
        format!("{:.1} ms", under_flood(then)),
        format!(
            "{:.1} ms; {:.1} and {:.1} ms",
            last.flood, last.before, last.after
        ),
        format!(
            "within the noise, {:.1} ms, in one of up to {ROUNDS} rounds (this was {})",
            last.bound(),
            rounds.len()
        ),
        last.holds(),
    );
}

fn under_flood(side: &Side) -> f64 {
    millis(p99(side
        .others
        .iter()
        .filter(|one| one.shot.at >= BEFORE + RAMP)))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// An Envoy, and a token for each partner: the fleet's is the first.
struct Gate {
    envoy: Envoy,
    tokens: Vec<String>,
}

impl Gate {
    async fn start(builder: Builder) -> Result<Self> {
        let issuer = Issuer::new("https://idp.test")?;
        let token = |partner: u64| {
            let name = match partner {
                0 => "partner-1".to_owned(),
                other => format!("other-{other}"),
            };
            issuer.token(json!({"partner": name, "sub": format!("device-{partner}")}))
        };
        let tokens = (0..=OTHERS).map(token).collect::<Result<_>>()?;
        let envoy = builder.without_access_log().jwt(issuer).start().await?;
        Ok(Self { envoy, tokens })
    }
}

/// Waits until the ramp, which begins some seconds later, begins so long before an edge of the guard's window.
async fn to_edge() -> Result<()> {
    let window = WINDOW.as_millis() as u64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let ramp = now + BEFORE.as_millis() as u64;
    let wanted = window - TO_EDGE.as_millis() as u64;
    let wait = (wanted + window - ramp % window) % window;
    sleep(Duration::from_millis(wait)).await;
    Ok(())
}

/// Sends the fleet's load to one gate, with the spike or without, and everybody else's to another or the same.
async fn send(
    gate: &Gate,
    others_gate: &Gate,
    rates: Rates,
    dice: &mut Rng,
    length: Duration,
    spike: bool,
) -> Result<Side> {
    let mut fleet = Vec::new();
    let mut at = Duration::ZERO;
    while at < length {
        fleet.push(Shot {
            at,
            who: 0,
            again: false,
        });
        at += Duration::from_secs_f64(1.0 / rate_at(at, rates, spike));
    }
    let mut others = Vec::new();
    let each = Duration::from_secs_f64(1.0 / rates.calm as f64);
    for who in 1..others_gate.tokens.len() {
        others.extend(Shot::every(who, each.mul_f64(dice.f64()), each, length));
    }
    let load = |gate: &Gate, shots: Vec<Shot>, connections, returns_until| {
        let tokens = gate.tokens.clone();
        Load {
            authority: gate.envoy.authority(),
            from: None,
            connections,
            shots,
            write: Box::new(move |shot: &Shot| {
                let token = &tokens[shot.who];
                format!("GET /v1/check-in HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer {token}\r\n\r\n").into_bytes()
            }),
            returns_until,
            stop: Arc::default(),
        }
    };
    let begun = Instant::now() + Duration::from_millis(50);
    let (fleet, others) = tokio::try_join!(
        load(gate, fleet, 48, length).send(begun),
        load(others_gate, others, 24, Duration::ZERO).send(begun),
    )?;
    Ok(Side { fleet, others })
}

fn rate_at(at: Duration, rates: Rates, spike: bool) -> f64 {
    let (calm, high) = (rates.calm as f64, rates.spike as f64);
    if !spike {
        return calm;
    }
    let into = at.saturating_sub(BEFORE).as_secs_f64() / RAMP.as_secs_f64();
    calm + (high - calm) * into.min(1.0)
}

/// The most of the fleet that was admitted within the length of a window, wherever that begins.
fn most_within(side: &Side) -> u64 {
    let admitted = side.fleet.iter().filter(|one| one.status == 200);
    densest(admitted.map(|one| one.heard), WINDOW)
}

/// How many of these times lie within `length`, wherever that begins, at most.
fn densest(times: impl Iterator<Item = Duration>, length: Duration) -> u64 {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let within = times.iter().enumerate().map(|(first, begin)| {
        let end = times.partition_point(|time| *time < *begin + length);
        (end - first) as u64
    });
    within.max().unwrap_or(0)
}

/// The least and the most that was admitted in one of the spans of the plateau.
fn extremes(side: &Side) -> (u64, u64) {
    let begin = BEFORE + RAMP;
    let spans = PLATEAU.as_millis() / LOOK.as_millis();
    let mut counts = vec![0; spans as usize];
    for one in side.fleet.iter().filter(|one| one.status == 200) {
        if let Some(into) = one.heard.checked_sub(begin)
            && let Some(count) = counts.get_mut((into.as_millis() / LOOK.as_millis()) as usize)
        {
            *count += 1;
        }
    }
    let count = |found: Option<&u64>| found.copied().unwrap_or(0);
    (count(counts.iter().min()), count(counts.iter().max()))
}

/// The most requests within `length` that come again as they were told, or that come for the first time.
fn most_that_come(side: &Side, again: bool, length: Duration) -> u64 {
    let due = side.fleet.iter().filter(|one| one.shot.again == again);
    densest(due.map(|one| one.shot.at), length)
}

/// The most within a second that come again, to the most that come for the first time.
fn wave(side: &Side) -> f64 {
    let most = |again| most_that_come(side, again, Duration::from_secs(1)) as f64;
    most(true) / most(false).max(1.0)
}

fn lines(side: &Side) -> Vec<crate::chart::Series> {
    let rows = [
        ("the fleet: admitted", Ink::Sky),
        ("the fleet: refused", Ink::Vermilion),
        ("20 others: admitted", Ink::Green),
        ("20 others: refused", Ink::Purple),
    ];
    let spans = (FLOOD.as_secs_f64() / SPAN) as usize;
    let mut timeline = Timeline::new(SPAN, spans, &rows);
    for (first, landed) in [(0, &side.fleet), (2, &side.others)] {
        for one in landed.iter().filter(|one| one.heard < FLOOD) {
            let row = first + usize::from(one.status != 200);
            timeline.add(row, one.heard.as_secs_f64());
        }
    }
    timeline.per_second()
}
