//! Caches by themselves, without the module: the leak that it is there to close.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;

use tidegate_e2e::cache::{self, Nginx, Varnish};
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Answer, Client, Envoy, Origin};

/// What many an API says of all its answers.
const PUBLIC: &str = r#"[["cache-control", "public, max-age=60"]]"#;

/// The answer to this caller; its body names the caller whom the origin answered.
async fn ask(url: &str, caller: &str) -> Answer {
    let call = Client::h1().get(url).header("x-api-key", caller);
    let answer = call.header("x-origin-respond-headers", PUBLIC).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200);
    answer
}

/// Two callers ask for one path; the second gets what was made for the first.
async fn leaks(url: &str, origin: &Origin, path: &str) {
    let mine = ask(url, "alice").await;
    assert!(mine.text().contains("alice"), "{mine:?}");
    let theirs = ask(url, "bob").await;
    assert_eq!(theirs.text(), mine.text());
    assert_eq!(origin.count(path), 1);
}

#[tokio::test]
async fn each_cache_of_envoy_gives_one_caller_the_answer_of_another() {
    for cache in [Cache::V2, Cache::V1] {
        let origin = Origin::start().await.unwrap();
        let builder = Envoy::builder().origin(&origin).cache(cache);
        let envoy = builder.start().await.unwrap();
        leaks(&envoy.at("/mine"), &origin, "/mine").await;
    }
}

#[tokio::test]
async fn varnish_does_too() {
    if cache::skipped(Varnish::PROGRAM) {
        return;
    }
    let origin = Origin::start().await.unwrap();
    let port = origin.address().port();
    let vcl = format!(r#"vcl 4.1; backend origin {{ .host = "127.0.0.1"; .port = "{port}"; }}"#);
    let varnish = Varnish::start(&vcl).await.unwrap();
    behind(varnish.address(), &origin).await;
}

#[tokio::test]
async fn nginx_does_too() {
    if cache::skipped(Nginx::PROGRAM) {
        return;
    }
    let origin = Origin::start().await.unwrap();
    let conf = format!(
        "events {{}} http {{ proxy_cache_path cache keys_zone=all:1m; server {{ listen 80; location / {{
            proxy_cache all; proxy_pass http://{}; }} }} }}",
        origin.address()
    );
    let nginx = Nginx::start(&conf).await.unwrap();
    behind(nginx.address(), &origin).await;
}

/// By the cache's own address, and through an Envoy before it.
async fn behind(cache: SocketAddr, origin: &Origin) {
    leaks(&format!("http://{cache}/direct"), origin, "/direct").await;
    let envoy = Envoy::builder().origin_at(cache).start().await.unwrap();
    leaks(&envoy.at("/behind"), origin, "/behind").await;
}

#[tokio::test]
async fn a_cache_that_does_not_come_up_says_why() {
    if cache::skipped(Varnish::PROGRAM) || cache::skipped(Nginx::PROGRAM) {
        return;
    }
    let error = Varnish::start("vcl 4.1; nonsense").await.unwrap_err();
    assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
    let conf = "events {} http { server { listen 80; nonsense; } }";
    let error = Nginx::start(conf).await.unwrap_err();
    assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
}
