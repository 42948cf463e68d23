//! Caches that mix callers up: what would be a leak is a 502 that is counted, and the owner is served as before.

use std::time::Duration;

use anyhow::Context;
use http::{Method, StatusCode};
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Reply, eventually, flood, repo};

use crate::stand::{Kind, Setup, Stand};
use crate::{PUBLIC, SAY, is_clean, lines};

/// A copy of one second, so that the next request after it has it confirmed.
const SHORT: &[(&str, &str)] = &[("cache-control", "public, max-age=1"), ("etag", "\"same\"")];

/// What makes Envoy's own caches mix callers up, as a bug of ours might.
const SAME: &str = "x-test-same-marker";

/// A cache that has one copy for all.
fn mixed_up(kind: Kind) -> Setup {
    let vary = "sub vcl_backend_response {";
    let without_vary = "sub vcl_backend_response {\n    unset beresp.http.vary;";
    let setup = Setup::new(kind);
    match kind {
        Kind::V2 | Kind::V1 => {
            setup.gate(|gate| gate.module(repo().join("dist/tidegate-test.wasm")))
        }
        Kind::Varnish | Kind::NoSidecar => setup
            .wrong("hash_data(\"scope:\" + req.http.x-tidegate-scope);", "")
            .wrong(vary, without_vary),
        Kind::Nginx => setup
            .wrong(
                "\"$http_x_tidegate_scope $http_host $request_uri\"",
                "\"$http_host $request_uri\"",
            )
            .wrong("X-Accel-Redirect;", "X-Accel-Redirect Vary;"),
    }
}

impl Stand {
    /// A call that the cache mixes up with those of others.
    fn mixed(&self, path: &str, caller: &str, say: &[(&str, &str)]) -> Call {
        let call = self.call(Method::GET, path, caller);
        call.header(SAME, "1").header(SAY, lines(say))
    }

    async fn ask(&self, path: &str, caller: &str, say: &[(&str, &str)]) -> Answer {
        self.mixed(path, caller, say).send().await.unwrap()
    }
}

fn is_withheld(answer: &Answer) {
    assert_eq!(answer.status, 502, "{answer:?}");
    let problem = answer.problem().unwrap();
    let kind = "urn:tidegate:problem:response-owner-mismatch";
    assert_eq!(problem["type"], kind, "{answer:?}");
    assert!(!answer.text().contains("amy"), "{answer:?}");
    is_clean(answer);
}

fn is_for(answer: &Answer, caller: &str) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer
            .text()
            .contains(&format!("[\"x-api-key\",\"{caller}\"]")),
        "{answer:?}"
    );
    is_clean(answer);
}

/// How many lines of the log tell of responses that were withheld.
fn told(stand: &Stand) -> usize {
    let log = stand.gate.log();
    log.lines()
        .filter(|line| line.contains("\"log\":\"tidegate.mismatch\""))
        .count()
}

async fn leaks_nothing(kind: Kind) {
    if kind.skipped() {
        return;
    }
    let stand = mixed_up(kind)
        .gate(|gate| gate.concurrency(2))
        .start()
        .await;
    let path = "/mine/x?a=1";
    is_for(&stand.ask(path, "amy", PUBLIC).await, "amy");

    let (url, many) = (stand.gate.at(path), 60);
    let answers = flood(8, many, move |client, n| {
        let call = client.get(&url).header("x-api-key", format!("other-{n}"));
        call.header(SAME, "1").header(SAY, lines(PUBLIC))
    });
    for answer in answers.await.unwrap() {
        is_withheld(&answer);
    }
    is_for(&stand.ask(path, "amy", PUBLIC).await, "amy");
    assert_eq!(stand.origin.count("/mine/x"), 1);
    assert_eq!(stand.mismatches().await, many as u64);
    is_not_resealed(&stand).await;
    // Once for all of them, whichever worker withheld them; Envoy writes its log with a delay.
    let told = eventually(Duration::from_secs(5), async || {
        let told = told(&stand);
        anyhow::ensure!(told > 0, "not told yet");
        Ok(told)
    });
    assert_eq!(told.await.unwrap(), 1, "{}", stand.gate.log());
}

/// The owner's copy ends, and another caller's request has it confirmed: it stays the owner's.
async fn is_not_resealed(stand: &Stand) {
    let path = "/mine/confirmed";
    is_for(&stand.ask(path, "amy", SHORT).await, "amy");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let confirmation = Reply::status(StatusCode::NOT_MODIFIED);
    let confirmation = confirmation.header("cache-control", "public, max-age=600");
    stand
        .origin
        .answer(path, confirmation.header("etag", "\"same\"").body(""));
    // Varnish hands out what it has once more, and asks meanwhile.
    is_withheld(&stand.ask(path, "bob", SHORT).await);
    let asked = eventually(Duration::from_secs(5), async || {
        let seen = stand.origin.seen(path);
        let last = seen.get(1).context("not asked yet")?;
        assert_eq!(last.headers["if-none-match"], "\"same\"");
        assert_eq!(last.headers["x-api-key"], "bob");
        Ok(())
    });
    asked.await.unwrap();
    is_withheld(&stand.ask(path, "bob", SHORT).await);
    is_for(&stand.ask(path, "amy", SHORT).await, "amy");
}

#[tokio::test]
async fn c25_a_mix_up_in_cache_v2_is_a_502() {
    leaks_nothing(Kind::V2).await;
}

#[tokio::test]
async fn c25_a_mix_up_in_the_older_cache_is_a_502() {
    leaks_nothing(Kind::V1).await;
}

#[tokio::test]
async fn c25_a_mix_up_in_varnish_is_a_502() {
    leaks_nothing(Kind::Varnish).await;
}

#[tokio::test]
async fn c25_a_mix_up_in_varnish_without_a_sidecar_is_a_502() {
    leaks_nothing(Kind::NoSidecar).await;
}

#[tokio::test]
async fn c25_a_mix_up_in_nginx_is_a_502() {
    leaks_nothing(Kind::Nginx).await;
}

#[tokio::test]
async fn c25_without_the_role_origin_nothing_is_let_out() {
    for kind in [Kind::V2, Kind::V1, Kind::Nginx] {
        if kind.skipped() {
            continue;
        }
        let stand = Setup::new(kind).without_role().start().await;
        is_withheld(&stand.get("/mine/x", "bob", PUBLIC).await);
        is_withheld(
            &stand
                .call(Method::POST, "/mine/x", "bob")
                .send()
                .await
                .unwrap(),
        );
        let call = stand.call(Method::POST, "/mine/grpc", "bob");
        let answer = call
            .header("content-type", "application/grpc")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("grpc-status"), Some("13"), "{answer:?}");
        assert!(answer.body.is_empty(), "{answer:?}");
        is_clean(&answer);
        // Where nothing is scoped, nothing is missing.
        assert_eq!(stand.get("/public/x", "bob", PUBLIC).await.status, 200);
        assert_eq!(stand.get("/other", "bob", PUBLIC).await.status, 200);
        assert_eq!(stand.mismatches().await, 3, "{kind:?}");
    }
}
