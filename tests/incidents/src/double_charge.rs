//! A client calls a charge endpoint, gives up after 5 s and retries; the first call had gone through.
//!
//! Nothing is compressed but the hours: the clock of the module is set ahead by 23 of them (`dist/tidegate-test.wasm`).

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use http::StatusCode;
use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply, Seen, repo};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::chart::{Chart, Ink, Spans};
use crate::incident::Incident;
use crate::policies;
use crate::run::{AHEAD, Run};
use crate::timeline::Timeline;

/// How many customers do each of the four things, in tenants of five each.
const CUSTOMERS: usize = 20;
const TENANT: usize = 5;

/// What a client waits for in all; one second of it was gone before the request was sent.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long the application takes for its answer: longer than a client waits.
const SLOW: Duration = Duration::from_secs(6);

/// How long a retry may go on being told that the first one runs.
const SETTLED: Duration = Duration::from_secs(30);

const HOUR_MS: u64 = 3_600_000;

/// When the app is launched again, in hours.
const LAUNCHES: [u64; 3] = [1, 8, 23];

/// The attempts, as the chart has them.
const ATTEMPTS: [&str; 6] = [
    "first, hung up",
    "at once",
    "1 h",
    "8 h",
    "23 h",
    "another amount",
];

/// Something that must not be done twice.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// The path, with a number in place of `{}`.
    path: &'static str,
    body: &'static str,
    /// The same with another amount, or what it has in its place.
    other: &'static str,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "charges of $340",
        path: "/v1/charges",
        body: r#"{"amount":34000,"currency":"usd","customer":{}}"#,
        other: r#"{"amount":35000,"currency":"usd","customer":{}}"#,
    },
    Shape {
        name: "refunds",
        path: "/v1/charges/{}/refunds",
        body: r#"{"amount":34000,"customer":{}}"#,
        other: r#"{"amount":35000,"customer":{}}"#,
    },
    Shape {
        name: "subscription upgrades",
        path: "/v1/subscriptions/{}/upgrade",
        body: r#"{"plan":"gold","seats":5,"customer":{}}"#,
        other: r#"{"plan":"gold","seats":50,"customer":{}}"#,
    },
    Shape {
        name: "bulk invites",
        path: "/v1/invites/bulk",
        body: r#"{"emails":["a@example.com","b@example.com"],"customer":{}}"#,
        other: r#"{"emails":["c@example.com"],"customer":{}}"#,
    },
];

/// What one side did, for each shape.
#[derive(Default)]
struct Side {
    /// How often the application did it, and for how many customers more than once.
    executed: [u64; 4],
    twice: [u64; 4],
    /// Retries at once, and later ones, that were answered as the first was.
    same: [u64; 4],
    later: [u64; 4],
    /// Requests for another amount under the same key that were refused by 422, and those that were carried out.
    refused: [u64; 4],
    changed: [u64; 4],
    timeline: Option<Timeline>,
}

/// One customer's own words: number, token, key.
#[derive(Clone)]
struct Customer {
    number: usize,
    token: String,
    key: String,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let policy = policies::load("safe-retries")?;
    let mut dice = run.dice(1);
    let issuer = Issuer::new("https://idp.test")?;
    let customers = customers(&issuer, &mut dice)?;
    let origin = Origin::start().await?;
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(&origin)
        .jwt(issuer)
        .start()
        .await?;
    let then = play(&envoy, &origin, &customers, &mut dice)
        .await
        .context("no guard")?;
    drop(envoy);

    let issuer = Issuer::new("https://idp.test")?;
    let customers = self::customers(&issuer, &mut dice)?;
    let origin = Origin::start().await?;
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(&origin)
        .policy(&policy)
        .module(repo().join("dist/tidegate-test.wasm"))
        .jwt(issuer)
        .start()
        .await?;
    let now = play(&envoy, &origin, &customers, &mut dice)
        .await
        .context("Tidegate")?;

    let mut incident = Incident {
        number: 1,
        title: "The double charge",
        story: "A client called a charge endpoint for $340, gave up after 5 s and retried; the first call had gone through. Two charges, four \
                seconds apart. The same shape stood in refunds, subscription upgrades and bulk invites; mobile clients retry at the next \
                launch of the app, some the next day.",
        then: "no guard",
        policy: "policies/safe-retries",
        scale: vec![
            format!("{CUSTOMERS} customers do each of four things; all of them hang up {} s after they sent it, at the real clock", PATIENCE.as_secs()),
            "the module's clock is set ahead by 1, 8 and 23 hours for the later launches of the app".to_owned(),
        ],
        rows: Vec::new(),
        chart: None,
    };
    let all = CUSTOMERS as u64;
    for (n, shape) in SHAPES.iter().enumerate() {
        let name = shape.name;
        incident.check(
            format!("{name}: carried out, for {CUSTOMERS} customers who tried 6 times"),
            then.executed[n],
            now.executed[n],
            format!("then more than once for all; now {all}"),
            then.twice[n] == all && now.executed[n] == all && now.twice[n] == 0,
        );
        incident.check(
            format!("{name}: retries after the hang-up that get the first answer"),
            then.same[n],
            now.same[n],
            format!("{all}, byte for byte"),
            now.same[n] == all,
        );
        let launches = all * LAUNCHES.len() as u64;
        incident.check(
            format!("{name}: retries 1, 8 and 23 hours later that get it"),
            then.later[n],
            now.later[n],
            format!("{launches}, byte for byte"),
            now.later[n] == launches,
        );
        incident.check(
            format!("{name}: key reused for another amount: refused, carried out"),
            format!("{}, {}", then.refused[n], then.changed[n]),
            format!("{}, {}", now.refused[n], now.changed[n]),
            format!("{all}, 0"),
            now.refused[n] == all && now.changed[n] == 0,
        );
    }
    let timeline = |side: &Side| {
        side.timeline
            .as_ref()
            .map(Timeline::counts)
            .unwrap_or_default()
    };
    incident.chart = Some(Chart {
        along: "attempt".to_owned(),
        spans: Spans::Named(ATTEMPTS.to_vec()),
        up: "requests",
        then: ("no guard".to_owned(), timeline(&then)),
        now: ("Tidegate".to_owned(), timeline(&now)),
    });
    Ok(incident)
}

fn customers(issuer: &Issuer, dice: &mut Rng) -> Result<Vec<Customer>> {
    let one = |number: usize| -> Result<Customer> {
        let tenant = format!("tenant-{}", number / TENANT);
        let claims = json!({"tenant_id": tenant, "sub": format!("customer-{number}")});
        let (token, key) = (issuer.token(claims)?, format!("\"{:016x}\"", dice.u64(..)));
        Ok(Customer { number, token, key })
    };
    (0..CUSTOMERS).map(one).collect()
}

/// What the application did of this for a customer, oldest first: it is asked by the customer's own mark in the body.
fn executions(origin: &Origin, shape: Shape, customer: &Customer) -> Vec<Seen> {
    let mark = format!("\"customer\":{}}}", customer.number);
    let mut seen = origin.seen(&shape.path(customer));
    seen.retain(|seen| String::from_utf8_lossy(&seen.body).contains(&mark));
    seen.sort_by_key(|seen| seen.execution);
    seen
}

async fn play(
    envoy: &Envoy,
    origin: &Origin,
    customers: &[Customer],
    dice: &mut Rng,
) -> Result<Side> {
    let rows = [
        ("carried out", Ink::Vermilion),
        ("answered as the first was", Ink::Sky),
        ("refused", Ink::Purple),
    ];
    let mut timeline = Timeline::new(1.0, ATTEMPTS.len(), &rows);
    let mut side = Side::default();
    slow(origin, customers, SLOW);
    // All at about the same time, so that all of it takes no longer than one.
    let mut firsts = JoinSet::new();
    for (n, shape) in SHAPES.into_iter().enumerate() {
        for (who, customer) in customers.iter().enumerate() {
            let call = shape.calls(envoy, customer, shape.body, 0);
            let wait = Duration::from_millis(dice.u64(0..500));
            firsts.spawn(async move {
                sleep(wait).await;
                let first = call().within(PATIENCE).send().await;
                ensure!(
                    first.is_err(),
                    "the first call was answered before its client gave up: {first:?}"
                );
                Ok((n, who, settled(call).await?))
            });
        }
    }
    while let Some(done) = firsts.join_next().await {
        let (n, who, answer) = done??;
        let same = is_first(&answer, origin, SHAPES[n], &customers[who]);
        side.same[n] += u64::from(same);
        timeline.add(0, 0.0);
        timeline.add(usize::from(same), 1.0);
    }
    slow(origin, customers, Duration::ZERO);
    for (place, hours) in LAUNCHES.into_iter().enumerate() {
        for (n, shape) in SHAPES.into_iter().enumerate() {
            for customer in customers {
                let answer = shape.calls(envoy, customer, shape.body, hours * HOUR_MS)()
                    .send()
                    .await?;
                let same = is_first(&answer, origin, shape, customer);
                side.later[n] += u64::from(same);
                timeline.add(usize::from(same), (2 + place) as f64);
            }
        }
    }
    for (n, shape) in SHAPES.into_iter().enumerate() {
        for customer in customers {
            let answer = shape.calls(envoy, customer, shape.other, 23 * HOUR_MS)()
                .send()
                .await?;
            let refused = answer.status == 422 && answer.text().contains("idempotency-key-reused");
            side.refused[n] += u64::from(refused);
            side.changed[n] += u64::from(answer.status == 201);
            timeline.add(if refused { 2 } else { 0 }, 5.0);
            let executed = executions(origin, shape, customer).len() as u64;
            side.executed[n] += executed;
            side.twice[n] += u64::from(executed > 1);
        }
    }
    side.timeline = Some(timeline);
    Ok(side)
}

/// From now on the application takes so long for its answers.
fn slow(origin: &Origin, customers: &[Customer], time: Duration) {
    for shape in SHAPES {
        for customer in customers {
            let made = Reply::status(StatusCode::CREATED).receipt();
            origin.answer(&shape.path(customer), made.after(time));
        }
    }
}

/// Whether this is the stored answer of the customer's first call, byte for byte: neither another's, nor one of another execution.
fn is_first(answer: &Answer, origin: &Origin, shape: Shape, customer: &Customer) -> bool {
    let executed = executions(origin, shape, customer);
    let Some(first) = executed.first() else {
        return false;
    };
    let receipt = first.receipt();
    let asked = shape.asked(shape.body, customer);
    let body = format!(r#"{{"receipt":"{receipt}","of":{asked}}}"#);
    let only = |name: &str, value: &str| answer.headers.get_all(name).iter().eq([value]);
    answer.status == 201
        && answer.body == body
        && only("x-receipt", &receipt)
        && only("content-type", "application/json")
        && only("idempotent-replayed", "true")
}

/// Sends a retry, and again when it is told to come back, until it is told something else.
async fn settled(again: impl Fn() -> Call) -> Result<Answer> {
    let begun = Instant::now();
    loop {
        let answer = again().send().await?;
        if !answer.text().contains("request-in-progress") || begun.elapsed() > SETTLED {
            return Ok(answer);
        }
        let wait = answer
            .retry_after()
            .context("a 409 that does not say when to come back")?;
        sleep(Duration::from_secs(wait)).await;
    }
}

impl Shape {
    fn path(self, customer: &Customer) -> String {
        self.path.replace("{}", &customer.number.to_string())
    }

    /// A body with the customer's mark.
    fn asked(self, body: &str, customer: &Customer) -> String {
        body.replace("{}", &customer.number.to_string())
    }

    /// A call on a connection of its own, which ends when its client gives up; once more whenever it is asked for.
    fn calls(
        self,
        envoy: &Envoy,
        customer: &Customer,
        body: &str,
        ahead: u64,
    ) -> impl Fn() -> Call + Send + 'static {
        let (url, body) = (envoy.at(&self.path(customer)), self.asked(body, customer));
        let customer = customer.clone();
        move || {
            Client::h1()
                .post(&url)
                .bearer(&customer.token)
                .header("idempotency-key", &customer.key)
                .header("content-type", "application/json")
                .header("x-invite-count", "2")
                .header(AHEAD, ahead.to_string())
                .body(body.clone())
        }
    }
}
