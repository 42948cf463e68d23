//! A source that sends 15 to 350 events a day sends 487,195 in eleven hours, most of them replays under fresh ids.
//!
//! The clock of the module is moved (`dist/tidegate-test.wasm`), so the limits are those of the policy as it lies in policies/.
//! One connection carries all of it in order, so the same seed has the same outcome.

mod operator;
mod outcome;
mod plan;
mod play;
mod wait;

use std::time::Duration;

use anyhow::{Context, Result};
use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Envoy, Origin, Reply, repo};

use crate::chart::{Chart, Spans};
use crate::incident::{Incident, grouped, share};
use crate::run::Run;
use crate::{guards, policies};
use operator::{scopes, slows_down, told};
use outcome::Outcome;
use plan::Plan;
use play::Side;
use wait::{CEILING, SOURCE};

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
    incident.check(
        "deliveries of the flood",
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
        "99 of a hundred at least",
        now.collapsed * 100 >= now.replays_of_finished * 99,
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
    let minutes = NEW.as_secs() / 60;
    let (source, ceiling) = (SOURCE.within(NEW), CEILING.within(NEW));
    let near = |found: u64, wanted: u64| found.abs_diff(wanted) * 50 <= wanted;
    incident.check(
        format!("one source, new events at the flood's pace for {minutes} minutes: admitted"),
        format!("{} of {}", grouped(then.one.ran), grouped(then.one.sent)),
        format!("{} of {}", grouped(now.one.ran), grouped(now.one.sent)),
        format!("{SOURCE}: {source}, give or take 2 %"),
        near(now.one.ran, source) && then.one.refused == 0,
    );
    incident.check(
        format!("ten sources under their own limits, 25/min each, for {minutes} minutes: admitted"),
        format!("{} of {}", grouped(then.ten.ran), grouped(then.ten.sent)),
        format!("{} of {}", grouped(now.ten.ran), grouped(now.ten.sent)),
        format!("{CEILING}: {ceiling}, give or take 2 %"),
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
    let of_all = |count: fn(&Outcome) -> u64| count(&now.flood) + count(&now.one) + count(&now.ten);
    let refused = of_all(|outcome| outcome.refused);
    let odd = of_all(|outcome| outcome.odd_waits);
    incident.check(
        "refusals whose Retry-After is not the wait in their body, rounded up to seconds",
        "-",
        grouped(odd),
        format!("0 of {}", grouped(refused)),
        odd == 0 && refused > 0,
    );
    let wrong = of_all(|outcome| outcome.wrong_waits);
    let parts = [&now.flood, &now.one, &now.ten];
    let doubt = parts.map(|outcome| outcome.doubt_ms).into_iter().max();
    incident.check(
        "refusals whose wait is not what their bucket takes for the next unit",
        "-",
        grouped(wrong),
        format!(
            "0 of {}, by rate, burst and what was admitted, to {} ms at most",
            grouped(refused),
            doubt.unwrap_or_default()
        ),
        wrong == 0 && refused > 0,
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
