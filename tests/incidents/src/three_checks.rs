//! Three services validate the same token in three ways; and how one policy takes the place of another without a surprise.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tidegate_e2e::envoy::Reload;
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Client, Envoy, Origin, eventually, repo};

use crate::chart::{Chart, Ink, Series, Spans};
use crate::incident::Incident;
use crate::run::{AHEAD, Run};
use crate::timeline::Timeline;
use crate::{guards, policies};

const SERVICES: [&str; 3] = ["/orders", "/invoices", "/profile"];

/// Traffic: this many requests, three seconds of the module's clock apart. Every third is a health check without a token.
const REQUESTS: usize = 120;
const APART: Duration = Duration::from_secs(3);
const ACCOUNTS: usize = 20;

/// How many requests make a span of the chart.
const SPAN: usize = 10;

/// How long Envoy may take to count.
const SOON: Duration = Duration::from_secs(10);

/// A token that is sent to all three, and whether it is to be admitted.
struct Token {
    what: &'static str,
    bearer: Option<String>,
    tenant_header: bool,
    good: bool,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let in_force = policies::load("plans")?;
    let origin = Origin::start().await?;
    let issuer = Issuer::new("https://idp.test")?;
    let envoy = Envoy::builder()
        .origin(&origin)
        .filter_before(guards::lua(include_str!("guards/check_of_a_service.lua")));
    let envoy = envoy.start().await?;
    let tokens = tokens(&issuer)?;
    let then = verdicts(&envoy, &tokens).await.context("three checks")?;
    drop(envoy);
    let module = repo().join("dist/tidegate-test.wasm");
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(&origin)
        .policy(&in_force)
        .module(&module)
        .jwt(issuer)
        .start()
        .await?;
    let now = verdicts(&envoy, &tokens)
        .await
        .context("one check at the edge")?;
    drop(envoy);

    let mut draft = in_force.clone();
    let mistake = policies::change(&mut draft, "/routes/0/anonymous", json!("deny"))?;
    policies::change(&mut draft, "/version", json!("2-draft"))?;
    let mut better = in_force.clone();
    policies::change(&mut better, "/version", json!("2"))?;
    let replaced = replaced(&draft, &origin, run)
        .await
        .context("a policy replaced at once")?;
    let walked = walked(&in_force, &draft, &better, &origin, run)
        .await
        .context("shadow first")?;

    let mut incident = Incident {
        number: 8,
        title: "Three copies of one check",
        story: "Three services validated the same token in three ways, and the same bug was fixed three times. Identity is decided once, at the \
                edge; a new policy runs beside the old one in shadow, and is enforced only when the two agree.",
        then: "three checks; replaced at once",
        policy: "policies/plans",
        scale: vec![
            format!("the next version's draft has a mistake: {mistake}"),
            format!(
                "{REQUESTS} requests in each phase, {} s of the module's clock apart",
                APART.as_secs()
            ),
        ],
        rows: Vec::new(),
        chart: None,
    };
    checks(&mut incident, &tokens, &then, &now);
    let health = (REQUESTS / 3) as u64;
    incident.check(
        "the draft with a mistake: callers refused who were admitted before",
        replaced.refused,
        walked.changed,
        format!("then every health check, {health}; now 0"),
        replaced.refused == health && walked.changed == 0,
    );
    incident.check(
        "disagreements that shadow counts about the draft",
        "-",
        walked.draft,
        format!("each of those: {health}"),
        walked.draft == health,
    );
    incident.check(
        "disagreements about the version without the mistake",
        "-",
        walked.better,
        "0, and only then it is enforced",
        walked.better == 0 && walked.enforced,
    );
    incident.chart = Some(Chart {
        along: "requests; with Tidegate: the draft in shadow, the better one in shadow, the better one enforced".to_owned(),
        spans: Spans::Even(SPAN as f64),
        up: "requests",
        then: ("replaced at once".to_owned(), replaced.lines),
        now: ("Tidegate: shadow first".to_owned(), walked.lines),
    });
    Ok(incident)
}

fn checks(incident: &mut Incident, tokens: &[Token], then: &[[bool; 3]], now: &[[bool; 3]]) {
    let differ = |found: &[[bool; 3]]| {
        found
            .iter()
            .filter(|one| one.iter().any(|admitted| *admitted != one[0]))
            .count()
    };
    incident.check(
        format!(
            "of {} tokens, the three services disagree about",
            tokens.len()
        ),
        differ(then),
        differ(now),
        "then some; now 0",
        differ(then) > 0 && differ(now) == 0,
    );
    for (place, token) in tokens.iter().enumerate() {
        let shown = |found: &[[bool; 3]]| {
            let words = found[place].map(|admitted| if admitted { "yes" } else { "no" });
            words.join(", ")
        };
        let wanted = if token.good { "all" } else { "none" };
        incident.check(
            format!("{}: admitted to orders, invoices, profile", token.what),
            shown(then),
            shown(now),
            format!("{wanted} now"),
            now[place] == [token.good; 3],
        );
    }
}

fn tokens(issuer: &Issuer) -> Result<Vec<Token>> {
    let stranger = Issuer::new("https://idp.test")?;
    let claims = |sub: &str| json!({"tenant_id": "acme", "plan": "paid", "sub": sub});
    let mut expired = claims("expired");
    expired["exp"] = json!(1_000_000_000);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut unsigned = claims("unsigned");
    unsigned["exp"] = json!(4_000_000_000_u64);
    unsigned["iss"] = json!("https://idp.test");
    let unsigned = format!(
        "{}.{}.",
        part(&json!({"alg": "none", "typ": "JWT"})),
        part(&unsigned)
    );
    let token = |what, bearer, good| Token {
        what,
        bearer,
        tenant_header: false,
        good,
    };
    Ok(vec![
        token("a good token", Some(issuer.token(claims("amy"))?), true),
        token("an expired one", Some(issuer.token(expired)?), false),
        token(
            "one that a stranger signed",
            Some(stranger.token(claims("stranger"))?),
            false,
        ),
        token("one with `alg: none`", Some(unsigned), false),
        Token {
            what: "none, but a header that names a tenant",
            bearer: None,
            tenant_header: true,
            good: false,
        },
        token("none", None, false),
    ])
}

/// Which services admit which tokens.
async fn verdicts(envoy: &Envoy, tokens: &[Token]) -> Result<Vec<[bool; 3]>> {
    let mut verdicts = Vec::new();
    for token in tokens {
        let mut one = [false; 3];
        for (place, service) in SERVICES.iter().enumerate() {
            let mut call = Client::h1().get(envoy.at(service));
            if let Some(bearer) = &token.bearer {
                call = call.bearer(bearer);
            }
            if token.tenant_header {
                call = call.header("x-tenant-id", "acme");
            }
            let answer = call.send().await?;
            ensure!(
                [200, 401].contains(&answer.status.as_u16()),
                "{}: {}",
                token.what,
                answer.status
            );
            one[place] = answer.status == 200;
        }
        verdicts.push(one);
    }
    Ok(verdicts)
}

/// A policy that took another's place at once.
struct Replaced {
    refused: u64,
    lines: Vec<Series>,
}

async fn replaced(draft: &Value, origin: &Origin, run: Run) -> Result<Replaced> {
    let mut traffic = Traffic::new(run)?;
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(origin)
        .policy(draft)
        .module(repo().join("dist/tidegate-test.wasm"));
    let envoy = envoy.jwt(traffic.issuer()?).start().await?;
    let mut timeline = Traffic::timeline(1);
    let refused = traffic.pass(&envoy, &mut timeline, 0).await?;
    Ok(Replaced {
        refused,
        lines: timeline.counts(),
    })
}

/// A policy that went through shadow.
struct Walked {
    /// Callers who were refused on the way.
    changed: u64,
    draft: u64,
    better: u64,
    enforced: bool,
    lines: Vec<Series>,
}

async fn walked(
    in_force: &Value,
    draft: &Value,
    better: &Value,
    origin: &Origin,
    run: Run,
) -> Result<Walked> {
    let shadow = |policy: &Value| {
        let mut policy = policy.clone();
        policy["mode"] = json!("shadow");
        policy
    };
    let mut traffic = Traffic::new(run)?;
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(origin)
        .module(repo().join("dist/tidegate-test.wasm"));
    let envoy = envoy
        .ecds()
        .policy(&shadow(draft))
        .in_force_behind(in_force)
        .jwt(traffic.issuer()?)
        .start()
        .await?;
    let mut timeline = Traffic::timeline(3);
    let mut changed = traffic.pass(&envoy, &mut timeline, 0).await?;
    // The last requests are counted a moment after their answers.
    let health = (REQUESTS / 3) as u64;
    let counted = eventually(SOON, async || {
        let found = disagreements(&envoy).await?;
        ensure!(found >= health, "{found} disagreements");
        Ok(())
    });
    // Fewer are a figure, and not a fault of the replay.
    let _ = counted.await;
    let draft = disagreements(&envoy).await?;
    ensure!(
        envoy.update_policy(&shadow(better)).await? == Reload::Accepted,
        "the better version was refused"
    );
    changed += traffic.pass(&envoy, &mut timeline, REQUESTS).await?;
    let better_disagrees = disagreements(&envoy).await?.saturating_sub(draft);
    let enforced = better_disagrees == 0 && envoy.update_policy(better).await? == Reload::Accepted;
    changed += traffic.pass(&envoy, &mut timeline, 2 * REQUESTS).await?;
    Ok(Walked {
        changed,
        draft,
        better: better_disagrees,
        enforced,
        lines: timeline.counts(),
    })
}

/// How often the policy in shadow disagreed, whatever about.
async fn disagreements(envoy: &Envoy) -> Result<u64> {
    let text = envoy.prometheus().await?;
    let counts = text
        .lines()
        .filter(|line| line.starts_with("tidegate_shadow_disagreements{"));
    counts
        .map(|line| {
            let (_, count) = line.rsplit_once(' ').context("a sample")?;
            Ok(count.parse::<u64>()?)
        })
        .sum()
}

/// Callers who all keep to their limits.
struct Traffic {
    issuer: Option<Issuer>,
    tokens: Vec<String>,
    dice: fastrand::Rng,
    /// How far the module's clock is ahead.
    at: Duration,
}

impl Traffic {
    fn new(run: Run) -> Result<Self> {
        let issuer = Issuer::new("https://idp.test")?;
        let token = |n: usize| {
            issuer.token(json!({"tenant_id": format!("tenant-{}", n % 4), "sub": format!("account-{n}"), "plan": "free"}))
        };
        let tokens = (0..ACCOUNTS).map(token).collect::<Result<_>>()?;
        Ok(Self {
            issuer: Some(issuer),
            tokens,
            dice: run.dice(8),
            at: Duration::ZERO,
        })
    }

    /// For Envoy, which needs its key.
    fn issuer(&mut self) -> Result<Issuer> {
        self.issuer.take().context("the issuer is gone already")
    }

    fn timeline(phases: usize) -> Timeline {
        let rows = [
            ("with a token: admitted", Ink::Sky),
            ("with a token: refused", Ink::Vermilion),
            ("health checks: admitted", Ink::Green),
            ("health checks: refused", Ink::Purple),
        ];
        Timeline::new(SPAN as f64, phases * REQUESTS / SPAN, &rows)
    }

    /// Sends all requests of a phase; how many were refused.
    async fn pass(&mut self, envoy: &Envoy, timeline: &mut Timeline, from: usize) -> Result<u64> {
        let client = Client::h1();
        let mut refused = 0;
        for n in 0..REQUESTS {
            self.at += APART;
            let health = n % 3 == 0;
            let path = if health {
                "/health"
            } else {
                SERVICES[self.dice.usize(..SERVICES.len())]
            };
            let mut call = client
                .get(envoy.at(path))
                .header(AHEAD, self.at.as_millis().to_string());
            if !health {
                call = call.bearer(&self.tokens[n % ACCOUNTS]);
            }
            let answer = call.send().await?;
            let admitted = answer.status == 200;
            refused += u64::from(!admitted);
            timeline.add(
                2 * usize::from(health) + usize::from(!admitted),
                (from + n) as f64,
            );
        }
        Ok(refused)
    }
}
