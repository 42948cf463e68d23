//! A cache keyed on query and pricing tier: two customers of one tier, one query, and the second gets the first one's data.

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use http::StatusCode;
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use tidegate_core::cases::{Found, pairs};
use tidegate_core::policy::Policy;
use tidegate_e2e::cache::{self, Varnish};
use tidegate_e2e::client::Call;
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Client, Envoy, Origin, Reply, repo};

use crate::chart::{Chart, Ink, Spans};
use crate::incident::{Incident, grouped};
use crate::run::Run;
use crate::timeline::Timeline;
use crate::{guards, policies};

/// How many customers there are of each of two tiers, what they search for, and how often each of them does.
const CUSTOMERS: usize = 10;
const TIERS: [&str; 2] = ["silver", "gold"];
const QUERIES: usize = 6;
const ROUNDS: usize = 3;

/// What the application says of all its answers: copies live through the whole run.
const LASTING: &str = "public, max-age=3600";

/// The switch of `dist/tidegate-test.wasm` by which every caller's marker in a path is the same, as a bug of ours might have it.
const SAME: &str = "x-test-same-marker";

const PATH: &str = "/search";

/// Rows of the timeline.
const OWN: usize = 0;
const OTHERS: usize = 1;
const WITHHELD: usize = 2;

/// How many searches make a span of the chart.
const SPAN: f64 = 20.0;

/// A search: who, of which tier, for what.
#[derive(Clone, Copy)]
struct Search {
    tier: usize,
    customer: usize,
    query: usize,
}

/// What became of all searches.
struct Side {
    searches: u64,
    /// Answers that were made for somebody else, and that were withheld.
    leaked: u64,
    withheld: u64,
    /// Answers that the application was not asked for.
    copies: u64,
    timeline: Timeline,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let searches = searches(&mut run.dice(3));
    let policy = policies::load("tenant-cache")?;
    let mut by_header = policy.clone();
    let mut scale = vec![
        "customers come in random order, over one hour's copies; nothing is compressed".to_owned(),
        format!(
            "for Varnish {}",
            policies::change(&mut by_header, "/routes/0/cache/by", json!("header"))?
        ),
    ];
    for route in ["/routes/1/cache/by", "/routes/2/cache/by"] {
        policies::change(&mut by_header, route, json!("header"))?;
    }
    let key =
        |builder: Builder| builder.environment("TIDEGATE_SCOPE_KEY", "known to this replay alone");

    let origin = application().await?;
    let leaky = Envoy::builder().filter_before(guards::lua(include_str!("guards/by_tier.lua")));
    let leaky = leaky.origin(&origin).cache(Cache::V2).start().await?;
    let then = play(&leaky, &origin, &searches, false)
        .await
        .context("Envoy's cache by tier")?;
    drop(leaky);

    let origin = application().await?;
    let envoy = key(Envoy::builder()
        .origin(&origin)
        .cache(Cache::V2)
        .policy(&policy)
        .origin_role());
    let envoy = envoy.start().await?;
    let now = play(&envoy, &origin, &searches, false)
        .await
        .context("Envoy's cache behind the gate")?;
    drop(envoy);

    let origin = application().await?;
    let wrong = key(Envoy::builder()
        .origin(&origin)
        .cache(Cache::V2)
        .policy(&policy)
        .origin_role());
    let wrong = wrong
        .module(repo().join("dist/tidegate-test.wasm"))
        .start()
        .await?;
    let sealed = play(&wrong, &origin, &searches, true)
        .await
        .context("a cache that mixes callers up")?;
    drop(wrong);

    let mut incident = Incident {
        number: 3,
        title: "The shared search result",
        story: "A cache keyed on query and pricing tier: two customers of one tier, one query, and the first one's data is served to the \
                second for the life of the entry.",
        then: "keyed by query and tier",
        policy: "policies/tenant-cache",
        scale: Vec::new(),
        rows: Vec::new(),
        chart: None,
    };
    let count = searches.len() as u64;
    incident.figure("searches of each row below", grouped(count), grouped(count));
    leaks(&mut incident, "Envoy's cache", &then, &now);
    seals(
        &mut incident,
        "Envoy's cache, one marker for all by a bug",
        &then,
        &sealed,
    );
    if cache::skipped(Varnish::PROGRAM) {
        scale.push("Varnish is not installed, so nothing is shown of it".to_owned());
    } else {
        let [then, now, sealed] = varnish(&by_header, &searches).await.context("Varnish")?;
        leaks(&mut incident, "Varnish", &then, &now);
        seals(
            &mut incident,
            "Varnish, its key without the scope",
            &then,
            &sealed,
        );
    }
    any_policy(&mut incident, &policy)?;
    incident.scale = scale;
    incident.chart = Some(Chart {
        along: "searches; Envoy's cache. Below, all of them once more through a cache that mixes callers up".to_owned(),
        spans: Spans::Even(SPAN),
        up: "answers",
        then: ("keyed by query and tier".to_owned(), then.timeline.counts()),
        now: ("Tidegate".to_owned(), joined(&now.timeline, &sealed.timeline)),
    });
    Ok(incident)
}

fn joined(first: &Timeline, second: &Timeline) -> Vec<crate::chart::Series> {
    let mut lines = first.counts();
    for (line, more) in lines.iter_mut().zip(second.counts()) {
        line.values.extend(more.values);
    }
    lines
}

fn leaks(incident: &mut Incident, cache: &str, then: &Side, now: &Side) {
    incident.check(
        format!("{cache}: answers that were made for another customer"),
        grouped(then.leaked),
        grouped(now.leaked),
        "then some; now 0",
        then.leaked > 0 && now.leaked == 0,
    );
    incident.check(
        format!("{cache}: answers that are copies"),
        grouped(then.copies),
        grouped(now.copies),
        // Each customer's first search for a thing is theirs alone.
        format!(
            "a customer's own: {}",
            (ROUNDS - 1) * CUSTOMERS * TIERS.len() * QUERIES
        ),
        now.copies == ((ROUNDS - 1) * CUSTOMERS * TIERS.len() * QUERIES) as u64
            && now.withheld == 0,
    );
}

fn seals(incident: &mut Incident, cache: &str, then: &Side, sealed: &Side) {
    incident.check(
        format!("{cache}: made for another customer; withheld by a 502"),
        format!("{}; {}", grouped(then.leaked), grouped(then.withheld)),
        format!("{}; {}", grouped(sealed.leaked), grouped(sealed.withheld)),
        "0; more than 0",
        sealed.leaked == 0 && sealed.withheld > 0,
    );
}

/// Builds pairs of callers who look the same but for one thing, for each scoped route of each policy in policies/, and has it
/// proved that no cache gives one of them the other's copy: what `tidegate lint` does for any policy.
fn any_policy(incident: &mut Incident, tenant_cache: &Value) -> Result<()> {
    let (mut shown, mut together) = (0, 0);
    for entry in fs::read_dir(repo().join("policies"))? {
        let file = entry?.path().join("policy.json");
        if file.is_file() {
            let (apart, shared) = proved(&fs::read(file)?)?;
            shown += apart;
            together += shared;
        }
    }
    // The key of then, as a policy: the tier is known, and alone says whose copy it is.
    let mut by_tier = tenant_cache.clone();
    policies::add(
        &mut by_tier,
        "/identity",
        "plan",
        json!([{"header": "x-tier"}]),
    )?;
    policies::change(&mut by_tier, "/routes/0/cache/scope", json!(["plan"]))?;
    let (_, shared) = proved(by_tier.to_string().as_bytes())?;
    incident.check(
        "any policy: pairs of callers that look the same: kept apart, sharing a copy",
        format!("-, {shared}"),
        format!("{shown}, {together}"),
        "then found out; now all apart",
        shared > 0 && together == 0 && shown > 0,
    );
    Ok(())
}

/// How many pairs of callers a policy keeps apart, and how many it does not.
fn proved(document: &[u8]) -> Result<(usize, usize)> {
    let policy = Policy::parse(document).map_err(|mistakes| anyhow::anyhow!("{mistakes:?}"))?;
    let pairs = pairs(&policy);
    let apart = pairs
        .iter()
        .filter(|pair| pair.found == Found::Apart)
        .count();
    Ok((apart, pairs.len() - apart))
}

/// Every customer's searches, in random order.
fn searches(dice: &mut Rng) -> Vec<Search> {
    let mut searches = Vec::new();
    for tier in 0..TIERS.len() {
        for customer in 0..CUSTOMERS {
            for query in 0..QUERIES {
                searches.extend(
                    [Search {
                        tier,
                        customer,
                        query,
                    }; ROUNDS],
                );
            }
        }
    }
    dice.shuffle(&mut searches);
    searches
}

/// An application whose answers say whom they were made for.
async fn application() -> Result<Origin> {
    let origin = Origin::start().await?;
    let reply = Reply::status(StatusCode::OK).header("cache-control", LASTING);
    origin.answer(PATH, reply.customer("x-api-key"));
    Ok(origin)
}

impl Search {
    fn customer(self) -> String {
        format!("{}-{}", TIERS[self.tier], self.customer)
    }

    fn call(self, envoy: &Envoy, client: &Client) -> Call {
        client
            .get(envoy.at(&format!("{PATH}?q=shoes-{}", self.query)))
            .header("x-tier", TIERS[self.tier])
            .header("x-tenant-id", format!("shop-{}", self.customer % 2))
            .header("x-api-key", self.customer())
    }
}

async fn play(envoy: &Envoy, origin: &Origin, searches: &[Search], same: bool) -> Result<Side> {
    let rows = [
        ("the customer's own", Ink::Sky),
        ("another customer's", Ink::Vermilion),
        ("withheld: 502", Ink::Amber),
    ];
    let spans = searches.len().div_ceil(SPAN as usize);
    let mut side = Side {
        searches: 0,
        leaked: 0,
        withheld: 0,
        copies: 0,
        timeline: Timeline::new(SPAN, spans, &rows),
    };
    let client = Client::h1();
    let before = origin.count(PATH);
    for search in searches {
        let mut call = search.call(envoy, &client);
        if same {
            call = call.header(SAME, "1");
        }
        let answer = call.send().await?;
        let row = if answer.status == 502 && answer.text().contains("response-owner-mismatch") {
            side.withheld += 1;
            WITHHELD
        } else {
            ensure!(
                answer.status == 200,
                "a search was answered {}: {}",
                answer.status,
                answer.text()
            );
            let own = answer.json()?["customer"] == search.customer().as_str();
            side.leaked += u64::from(!own);
            if own { OWN } else { OTHERS }
        };
        side.timeline.add(row, side.searches as f64);
        side.searches += 1;
    }
    side.copies = side.searches
        - side.withheld
        - (origin.count(PATH) - before).min(side.searches - side.withheld);
    Ok(side)
}

/// The three sides with Varnish: by tier, behind the gate, and behind the gate with a key that leaves the scope out.
async fn varnish(policy: &Value, searches: &[Search]) -> Result<[Side; 3]> {
    let origin = application().await?;
    let port = origin.address().port();
    let vcl = format!(
        "vcl 4.1; backend origin {{ .host = \"127.0.0.1\"; .port = \"{port}\"; }} \
         sub vcl_recv {{ return (hash); }} \
         sub vcl_hash {{ hash_data(req.url); hash_data(req.http.x-tier); return (lookup); }}"
    );
    let server = Varnish::start(&vcl).await?;
    let envoy = Envoy::builder().origin_at(server.address()).start().await?;
    let then = play(&envoy, &origin, searches, false).await?;

    let scoped = behind_gate(policy, searches, &[]).await?;
    let wrong = [
        ("hash_data(\"scope:\" + req.http.x-tidegate-scope);", ""),
        (
            "sub vcl_backend_response {",
            "sub vcl_backend_response {\n    unset beresp.http.vary;",
        ),
    ];
    let sealed = behind_gate(policy, searches, &wrong).await?;
    Ok([then, scoped, sealed])
}

/// Gate, Varnish with the VCL that is there to copy, sidecar, application; but for what is wrong on purpose.
async fn behind_gate(policy: &Value, searches: &[Search], wrong: &[(&str, &str)]) -> Result<Side> {
    let origin = application().await?;
    let sidecar = Envoy::builder()
        .origin(&origin)
        .as_sent()
        .policy(policy)
        .root_id("origin")
        .start()
        .await?;
    let at = SocketAddr::from(([127, 0, 0, 1], sidecar.port("plain")));
    let mut vcl = fs::read_to_string(repo().join("envoy/varnish/default.vcl"))?;
    let port = format!(".port = \"{}\"", at.port());
    for (right, other) in [(".port = \"10001\"", port.as_str())].iter().chain(wrong) {
        ensure!(vcl.contains(right), "default.vcl has no `{right}`");
        vcl = vcl.replace(right, other);
    }
    let server = Varnish::start(&vcl).await?;
    let gate = Envoy::builder().origin_at(server.address()).policy(policy);
    let gate = gate
        .environment("TIDEGATE_SCOPE_KEY", "known to this replay alone")
        .start()
        .await?;
    play(&gate, &origin, searches, false).await
}
