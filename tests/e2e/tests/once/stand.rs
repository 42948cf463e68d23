//! An Envoy with a policy about charges, and the origin that makes them.

use std::time::Duration;

use anyhow::ensure;
use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::client::Call;
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::{Answer, Client, Envoy, Origin, eventually, repo};

use crate::KEY;
use crate::script::Script;

/// How long anything may take.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Where charges are made.
pub(crate) const CHARGES: &str = "/v1/charges";

/// The body of a charge.
pub(crate) const BODY: &str = r#"{"amount":100,"currency":"eur"}"#;

/// A policy by which POSTs below `/v1/` are made once, by this rule.
pub(crate) fn policy(rule: &Value) -> Value {
    json!({
        "policy": "once", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "routes": [
            {"name": "charges", "match": {"methods": ["POST"], "path": "/v1/*"}, "idempotency": rule},
        ],
    })
}

/// The module with switches for tests.
pub(crate) fn with_switches(builder: Builder) -> Builder {
    builder.module(repo().join("dist/tidegate-test.wasm"))
}

/// An Envoy and the harness's origin.
#[derive(Debug)]
pub(crate) struct Stand {
    pub(crate) envoy: Envoy,
    pub(crate) origin: Origin,
}

impl Stand {
    /// With this rule about charges.
    pub(crate) async fn of(rule: Value) -> Self {
        Self::start(&policy(&rule), |builder| builder).await
    }

    pub(crate) async fn start(policy: &Value, change: impl FnOnce(Builder) -> Builder) -> Self {
        let origin = Origin::start().await.unwrap();
        let builder = Envoy::builder().policy(policy).origin(&origin);
        let envoy = change(builder).start().await.unwrap();
        Self { envoy, origin }
    }
}

/// An Envoy and an origin that plays by a script.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) envoy: Envoy,
    pub(crate) origin: Script,
}

impl Played {
    pub(crate) async fn of(rule: Value) -> Self {
        Self::start(&policy(&rule), |builder| builder).await
    }

    pub(crate) async fn start(policy: &Value, change: impl FnOnce(Builder) -> Builder) -> Self {
        let origin = Script::start().await;
        let builder = Envoy::builder()
            .policy(policy)
            .origin_at(origin.address())
            .h1_to_origin();
        let envoy = change(builder).start().await.unwrap();
        Self { envoy, origin }
    }
}

/// Where to: the origin, which is given up on after so long.
pub(crate) fn within(seconds: &str) -> Vec<Value> {
    vec![json!({"match": {"prefix": "/"}, "route": {"cluster": "origin", "timeout": seconds}})]
}

/// A charge of amy's with this key, on a connection of its own.
pub(crate) fn charge(envoy: &Envoy, key: &str) -> Call {
    charge_by(&Client::h1(), envoy, key)
}

/// The same on a client's connection.
pub(crate) fn charge_by(client: &Client, envoy: &Envoy, key: &str) -> Call {
    nameless(client, Method::POST, envoy, CHARGES)
        .header("x-account", "amy")
        .header(KEY, format!("\"{key}\""))
        .body(BODY)
}

/// A request of nobody's, without a key.
pub(crate) fn nameless(client: &Client, method: Method, envoy: &Envoy, path: &str) -> Call {
    let call = client.call(method, envoy.at(path));
    call.header("content-type", "application/json")
}

/// Sends a charge until it is answered otherwise than that the first one runs.
pub(crate) async fn settled(envoy: &Envoy, key: &str) -> Answer {
    eventually(SOON, async || {
        let answer = charge(envoy, key).send().await?;
        let runs = answer.text().contains("request-in-progress");
        ensure!(!runs, "{answer:?}");
        Ok(answer)
    })
    .await
    .unwrap()
}

/// Sets the clock of this Envoy's module ahead, by so many milliseconds in all.
pub(crate) async fn ahead(envoy: &Envoy, millis: u64) {
    let call = Client::h1().get(envoy.at("/ahead"));
    let call = call.header("x-test-ahead-ms", millis.to_string());
    assert_eq!(call.send().await.unwrap().status, 200);
}
