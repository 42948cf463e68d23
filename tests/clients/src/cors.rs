//! What a page of another origin can read of a refusal (Fetch, section 3.2.4): it depends on who answers for CORS.

use anyhow::{Context as _, Result, ensure};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tidegate_e2e::{Envoy, Reply};

use crate::client::Page;
use crate::stand::{Stand, policy};

/// The fields of ours that a page may want to read.
const EXPOSED: &str = "retry-after, ratelimit, ratelimit-policy, idempotent-replayed";

/// What such a page reads of a 429.
#[derive(Debug, Serialize)]
pub(crate) struct Read {
    /// Who answers for CORS.
    pub(crate) by: &'static str,
    /// Its status, if the page is shown the answer at all.
    pub(crate) status: Option<u64>,
    /// Its `Retry-After`.
    pub(crate) retry_after: Option<String>,
}

/// Envoy's filter stands before the gate; routes say whether it does anything.
async fn envoy(stand: &Stand) -> Result<Envoy> {
    let name = "envoy.filters.http.cors";
    let filter = json!({"name": name, "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors"}});
    let route = |prefix: &str, exposed: Option<&str>| {
        let mut rules = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy",
            "allow_origin_string_match": [{"prefix": "http://127.0.0.1:"}],
            "allow_methods": "GET, POST",
            "allow_headers": "x-account, content-type, idempotency-key",
        });
        if let Some(exposed) = exposed {
            rules["expose_headers"] = json!(exposed);
        }
        json!({
            "match": {"prefix": prefix}, "route": {"cluster": "origin"}, "typed_per_filter_config": {name: rules},
        })
    };
    let routes = vec![
        route("/limited/allowed", None),
        route("/limited/exposed", Some(EXPOSED)),
        json!({"match": {"prefix": "/"}, "route": {"cluster": "origin"}}),
    ];
    let builder = Envoy::builder().policy(&policy()).origin(&stand.origin);
    builder.filter_before(filter).routes(routes).start().await
}

/// Asks from a page of the origin's own port, which is another origin to a browser.
pub(crate) async fn reads(stand: &Stand, page: &Page) -> Result<Vec<Read>> {
    // The application answers for CORS by itself, with all that a page needs.
    let own = Reply::status(StatusCode::OK)
        .header("access-control-allow-origin", "*")
        .header("access-control-allow-headers", "x-account, content-type")
        .header("access-control-expose-headers", EXPOSED);
    stand.origin.answer("/limited/own", own);
    let envoy = envoy(stand).await?;
    page.go(format!("http://{}/page", stand.origin.address()))
        .await?;
    let mut reads = Vec::new();
    for (path, by) in [
        ("/limited/own", "the application"),
        ("/limited/allowed", "Envoy's `cors` before the gate"),
        (
            "/limited/exposed",
            "Envoy's `cors` before the gate, with `expose_headers`",
        ),
    ] {
        let url = Value::from(envoy.at(path));
        let account = format!("page-{}", reads.len());
        let init = json!({"headers": {"x-account": account, "content-type": "application/json"}});
        let fetch = format!("fetch({url}, {init})");
        let admitted = page.settled(&fetch).await?;
        ensure!(admitted["status"] == 200, "{path}: {admitted}");
        let told = page.settled(&fetch).await?;
        let logged = crate::stand::made(&envoy, "GET", path).await?;
        let last = logged.last().context("no request came")?;
        ensure!(last.status == 429, "{path}: {logged:?}");
        reads.push(Read {
            by,
            status: told["status"].as_u64(),
            retry_after: told["retry_after"].as_str().map(str::to_owned),
        });
    }
    // What asks whether it may ask is answered before the gate: neither it nor the application saw any of them.
    let log = envoy.access_log()?;
    for path in ["/limited/allowed", "/limited/exposed"] {
        let asked = |line: &&Value| line["method"] == "OPTIONS" && line["path"] == path;
        let mut preflights = log.iter().filter(asked).peekable();
        ensure!(preflights.peek().is_some(), "{path}: no preflight came");
        let decided = preflights.any(|line| !line["decision"].is_null());
        let seen = stand.origin.seen(path);
        let seen = seen.iter().any(|seen| seen.method == Method::OPTIONS);
        ensure!(!decided && !seen, "{path}: {log:?}");
    }
    Ok(reads)
}
