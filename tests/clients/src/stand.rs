//! The Envoys and the origin that the clients meet.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply};
use tokio::time::sleep;

use crate::ask::Ask;
use crate::attempt::{Attempt, HARNESS, attempts};
use crate::client::Dialect;

/// How long a bucket of the limit takes to hold one request again, in seconds.
pub(crate) const REFILL: f64 = 3.0;

/// How many requests there is room for where there is little.
pub(crate) const ROOM: usize = 32;

/// How often a log is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// How long anything of the harness's own may take.
const SOON: Duration = Duration::from_secs(30);

/// What the Envoys and the origin are.
#[derive(Debug)]
pub(crate) struct Stand {
    pub(crate) envoy: Envoy,
    /// One whose store has room for [`ROOM`] requests.
    pub(crate) small: Envoy,
    pub(crate) origin: Origin,
}

impl Stand {
    pub(crate) async fn start() -> Result<Self> {
        let origin = Origin::start().await?;
        let page = Reply::status(StatusCode::OK).header("content-type", "text/html");
        origin.answer("/page", page.body("<!doctype html><title>a page</title>"));
        let start = |policy: Value| {
            let builder = Envoy::builder().concurrency(2).policy(&policy);
            builder.origin(&origin).start()
        };
        let (envoy, small) = tokio::try_join!(start(policy()), start(small()))?;
        Ok(Self {
            envoy,
            small,
            origin,
        })
    }
}

/// Callers by the header of these clients, or by the one that Stripe's client sends.
fn identity() -> Value {
    json!({"account": [{"header": "x-account"}, {"header": "authorization", "secret": true}]})
}

/// One request in three seconds below `/limited/`; each once below `/once/`. With every field that we have for refusals.
pub(crate) fn policy() -> Value {
    json!({
        "policy": "clients", "version": "1", "legacy_headers": true,
        "identity": identity(),
        "limits": {"calls": {"per": ["account", "route"], "rate": "20/min", "burst": 1}},
        "routes": [
            {"name": "read", "match": {"methods": ["GET"], "path": "/limited/*"}, "limits": ["calls"]},
            {"name": "charge", "match": {"methods": ["POST"], "path": "/limited/*"}, "limits": ["calls"],
             "idempotency": {"key": "required"}},
            {"name": "once", "match": {"methods": ["POST"], "path": "/once/*"}, "idempotency": {"key": "required"}},
        ],
    })
}

fn small() -> Value {
    json!({
        "policy": "clients", "version": "1", "capacity": {"records": ROOM},
        "identity": identity(),
        "routes": [
            {"name": "full", "match": {"methods": ["POST", "PUT"], "path": "/full/*"}, "idempotency": {"key": "required"}},
        ],
    })
}

/// A request as a client would send it, sent by the harness.
pub(crate) fn as_if(dialect: Dialect, ask: &Ask) -> Result<Call> {
    let mut call = Client::h1().call(Method::from_bytes(ask.method.as_bytes())?, &ask.url);
    call = call.header("user-agent", HARNESS).within(SOON);
    if let Some(key) = &ask.key {
        call = call.header("idempotency-key", key);
    }
    Ok(if dialect == Dialect::Stripe {
        call.bearer(&format!("sk_test_{}", ask.account))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("amount={}&currency=eur", ask.amount))
    } else {
        call.header("x-account", &ask.account)
            .header("content-type", "application/json")
            .body(ask.body().unwrap_or_default())
    })
}

/// The attempts at this path so far, all that were answered before.
pub(crate) async fn made(envoy: &Envoy, method: &str, path: &str) -> Result<Vec<Attempt>> {
    // What was logged before this request is there when it is.
    let marker = format!("/logged{path}/{}", envoy.access_log()?.len());
    let call = Client::h1().get(envoy.at(&marker));
    call.header("user-agent", HARNESS).send().await?;
    until(|| {
        let log = envoy.access_log()?;
        let there = log.iter().any(|line| line["path"] == marker);
        there.then(|| attempts(&log, method, path)).transpose()
    })
    .await
}

/// Waits until there is something.
pub(crate) async fn until<T>(mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let found = async {
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            sleep(PAUSE).await;
        }
    };
    let found = tokio::time::timeout(SOON, found).await;
    found.with_context(|| format!("not within {SOON:?}"))?
}

/// An answer of this status and problem type.
pub(crate) fn is_problem(answer: &Answer, status: u16, kind: &str) -> Result<()> {
    let problem = answer.problem()?;
    let own = problem["type"].as_str().unwrap_or_default();
    ensure!(
        answer.status == status && own.ends_with(kind),
        "{status} {kind}: {answer:?}"
    );
    Ok(())
}
