//! One run: Envoy with everything on, the origin, clients that send until the time is over, and what is known then.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Client, Envoy, Origin as Receiver, eventually, repo};
use tokio::task::JoinSet;

use crate::checks::{Counted, Health, Memory, decisions};
use crate::history::{History, Past};
use crate::log::Log;
use crate::origin::Origin;
use crate::people::People;
use crate::plan::Plan;
use crate::request::BLOCK;
use crate::{Break, client, policy, streams};

/// How many clients there are at once.
const CLIENTS: usize = 16;

const WORKERS: u32 = 2;

/// A secret as Standard Webhooks has them.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// How long Envoy may take to be done with what was sent.
const SOON: Duration = Duration::from_secs(30);

/// How many requests Envoy is at.
const ACTIVE: &str = "http.plain.downstream_rq_active";

/// What Envoy counts of its callers' connections and streams.
const STATS: &str = "^(http[.]plain|http1|http2)[.].*";

/// What is known when a run is over.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) past: Past,
    pub(crate) people: Arc<People>,
    pub(crate) counted: Counted,
    pub(crate) health: Health,
    pub(crate) memory: Memory,
    /// Envoy's access log.
    pub(crate) log: Log,
    /// What it counts of connections and streams.
    pub(crate) stats: BTreeMap<String, u64>,
    pub(crate) events: u64,
    pub(crate) resident: u64,
}

/// What all clients work with.
#[derive(Clone)]
struct Work {
    seed: u64,
    next: Arc<AtomicU64>,
    until: Instant,
    to: SocketAddr,
    people: Arc<People>,
    history: Arc<History>,
    broken: Option<Break>,
}

/// Runs for so many seconds.
///
/// # Errors
/// Envoy cannot be started, or does not answer when it is over.
pub(crate) async fn run(seed: u64, seconds: u64, broken: Option<Break>) -> Result<Known> {
    let issuer = Issuer::new("hostile-issuer")?;
    let people = Arc::new(People::new(seed, &issuer)?);
    let history = Arc::new(History::new());
    let origin = Origin::start(Arc::clone(&history), Arc::clone(&people), seed).await?;
    let receiver = Receiver::start().await?;
    let envoy = start(&origin, &receiver, issuer, broken).await?;
    let before = envoy.vms().await?;
    let to: SocketAddr = envoy.authority().parse()?;
    let heap = envoy.heap_bytes().await?;
    let until = Instant::now() + Duration::from_secs(seconds);
    let work = Work {
        seed,
        next: Arc::default(),
        until,
        to,
        people: Arc::clone(&people),
        history: Arc::clone(&history),
        broken,
    };
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(work.clone().send());
    }
    let (operators, ()) = tokio::join!(watch(&envoy, until), kill(&envoy, until, broken));
    while clients.join_next().await.is_some() {}
    let past = || history.with(|past| past.clone());
    // By its admin interface, which is none of its workers'.
    if envoy.stat(ACTIVE).await.is_err() {
        return Ok(gone(past(), people, before, envoy.log()));
    }
    let left = quiet(&envoy).await?;
    let after = envoy.vms().await?;
    let metrics = envoy.prometheus().await?;
    let of = async |name: &str| {
        let labels = [("policy", policy::NAME)];
        let value = envoy.sample(name, &labels).await?.unwrap_or(0.0);
        Ok::<u64, anyhow::Error>(value.to_string().parse()?)
    };
    let mut counted = Counted {
        decisions: decisions(&metrics),
        replays: of("tidegate_replays").await?,
        store_full: of("tidegate_store_full").await?,
        contended: of("tidegate_swaps_given_up").await?,
        ..Counted::default()
    };
    let log = Log::new(envoy.access_log()?);
    counted.log(log.ended());
    let past = past();
    let kept = past
        .executions
        .iter()
        .filter(|execution| execution.kept > 0);
    let mut memory = Memory {
        before: heap,
        after: envoy.heap_bytes().await?,
        bound: policy::bound(),
        copies: (
            kept.clone().count() as u64,
            kept.map(|execution| execution.kept).sum(),
        ),
    };
    if broken == Some(Break::Memory) {
        (memory.bound, memory.copies) = (0, (0, 0));
    }
    Ok(Known {
        counted,
        health: Health {
            before,
            after: Some(after),
            left,
            log: envoy.log(),
            store_errors: of("tidegate_store_errors").await?,
            mismatches: of("tidegate_seal_mismatches").await?,
            operators,
        },
        memory,
        log,
        stats: envoy.stats(STATS).await?,
        past,
        people,
        events: receiver.total(),
        resident: envoy.rss_bytes()?,
    })
}

async fn start(
    origin: &Origin,
    receiver: &Receiver,
    issuer: Issuer,
    broken: Option<Break>,
) -> Result<Envoy> {
    let module = match broken {
        Some(Break::Vm) => "dist/tidegate-test.wasm",
        _ => "dist/tidegate.wasm",
    };
    let timeout = format!("{}s", policy::TIMEOUT_MS / 1_000);
    let all = json!({"name": "all", "match": {"prefix": "/"}, "route": {"cluster": "origin", "timeout": timeout}});
    let builder = Envoy::builder()
        .concurrency(WORKERS)
        .module(repo().join(module))
        .policy(&policy::policy(broken))
        .environment("TIDEGATE_SCOPE_KEY", "a key for scopes")
        .environment("NOTIFY_KEY", SECRET)
        .jwt(issuer)
        .as_sent()
        .h1_to_origin()
        .cache(Cache::V2)
        .origin_at(origin.address())
        .routes(vec![all])
        .receiver("alerts", receiver.address())
        .log_beginnings()
        .admin_role("127.0.0.1")
        .candidate(&policy::candidate());
    let builder = match broken {
        Some(Break::Role) => builder,
        _ => builder.origin_role(),
    };
    builder.start().await
}

impl Work {
    /// Sends until the time is over.
    async fn send(self) {
        while Instant::now() < self.until {
            let plan = self.next.fetch_add(1, Ordering::Relaxed);
            let number = plan * BLOCK;
            let mut dice =
                fastrand::Rng::with_seed(self.seed ^ plan.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            // A connection that fails is an end of the requests on it, which are written down.
            if dice.u8(0..3) == 0 {
                let _ = streams::run(number, &mut dice, &self.people, self.to, &self.history).await;
            } else {
                let plan = self.changed(Plan::new(number, &mut dice, &self.people), &mut dice);
                let mut beside = JoinSet::new();
                for again in plan.again(&mut dice) {
                    let (to, history) = (self.to, Arc::clone(&self.history));
                    beside.spawn(async move { client::run(again, to, &history).await });
                }
                let _ = client::run(plan, self.to, &self.history).await;
                while beside.join_next().await.is_some() {}
            }
            self.secretly(&mut dice).await;
        }
    }

    /// The plan, with a request that takes the VM down where that is asked for.
    fn changed(&self, mut plan: Plan, dice: &mut fastrand::Rng) -> Plan {
        if self.broken == Some(Break::Vm) && dice.u8(0..100) == 0 {
            plan.trap();
        }
        plan
    }

    /// Sends a request that nobody writes down, where that is asked for.
    async fn secretly(&self, dice: &mut fastrand::Rng) {
        if self.broken == Some(Break::Counts) && dice.u8(0..20) == 0 {
            let call = Client::h1().get(format!("http://{}/plain", self.to));
            let _ = call.header("x-tidegate-scope", "1").send().await;
        }
    }
}

/// Asks as an operator does, again and again; what was answered otherwise than with a 200.
async fn watch(envoy: &Envoy, until: Instant) -> Vec<String> {
    let mut odd = Vec::new();
    let client = Client::h1();
    let record = "/records?method=POST&path=/charges&key=key-1-1&host=api.test&tenant=tenant-0&account=key-0-0";
    let paths = [
        "/",
        "/limits",
        "/policy",
        "/limits?tenant=tenant-0&account=key-0-0",
        record,
    ];
    for path in paths.iter().cycle() {
        if Instant::now() >= until {
            break;
        }
        match client.get(envoy.live(path)).send().await {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => odd.push(format!("{path}: {} {}", answer.status, answer.text())),
            Err(error) => odd.push(format!("{path}: {error:#}")),
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    odd
}

/// Kills Envoy half-way, where that is asked for.
async fn kill(envoy: &Envoy, until: Instant, broken: Option<Break>) {
    if broken != Some(Break::Envoy) {
        return;
    }
    let left = until.saturating_duration_since(Instant::now());
    tokio::time::sleep(left / 2).await;
    let pid = envoy.pid().to_string();
    // Whether it worked is seen when it is over.
    let _ = tokio::process::Command::new("kill")
        .args(["-KILL", &pid])
        .status()
        .await;
}

fn gone(past: Past, people: Arc<People>, before: tidegate_e2e::envoy::Vms, log: String) -> Known {
    Known {
        past,
        people,
        counted: Counted::default(),
        health: Health {
            before,
            after: None,
            left: 0,
            log,
            store_errors: 0,
            mismatches: 0,
            operators: Vec::new(),
        },
        memory: Memory::default(),
        log: Log::default(),
        stats: BTreeMap::new(),
        events: 0,
        resident: 0,
    }
}

/// Waits until nothing is on its way any more and the access log says nothing new; how many requests Envoy does not let go of.
async fn quiet(envoy: &Envoy) -> Result<u64> {
    let done = eventually(SOON, async || {
        let active = envoy.stat(ACTIVE).await?;
        ensure!(active == 0, "{active} requests");
        Ok(())
    });
    let left = match done.await {
        Ok(()) => 0,
        Err(_) => envoy.stat(ACTIVE).await?,
    };
    let mut lines = None;
    eventually(SOON, async || {
        // Envoy writes its log a little later.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let log: Vec<Value> = envoy.access_log()?;
        let before = lines.replace(log.len());
        ensure!(before == lines, "the access log grows");
        Ok(())
    })
    .await
    .context("Envoy is not done")?;
    Ok(left)
}
