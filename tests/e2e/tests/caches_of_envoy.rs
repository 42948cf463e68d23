//! What Envoy's caches do, and leave undone, that the module has to know of. It is not mounted here.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use http::{Method, StatusCode};
use serde_json::json;
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply, raw};

const BOTH: [Cache; 2] = [Cache::V2, Cache::V1];
const HIT: &str = "cache.response_from_cache_filter";
const LASTING: (&str, &str) = ("cache-control", "max-age=60");

/// An Envoy with a cache, and how many requests it had so far: each is told by its number in the log.
struct Cached {
    envoy: Envoy,
    asked: std::cell::Cell<u64>,
}

impl Cached {
    async fn start(builder: Builder, cache: Cache) -> Self {
        let envoy = builder.cache(cache).start().await.unwrap();
        let asked = std::cell::Cell::new(0);
        Self { envoy, asked }
    }

    /// An answer and its details.
    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> (Answer, String) {
        let n = self.asked.get();
        self.asked.set(n.wrapping_add(1));
        let mut call = Client::h1().call(method, self.envoy.at(path));
        for (name, value) in headers {
            call = call.header(name, value);
        }
        let answer = call.send().await.unwrap();
        let details = tidegate_e2e::eventually(std::time::Duration::from_secs(10), async || {
            let log = self.envoy.access_log()?;
            let line = log.get(usize::try_from(n)?);
            let line = line.ok_or_else(|| anyhow::anyhow!("no line {n}"))?;
            Ok(line["details"].as_str().unwrap_or_default().to_owned())
        });
        (answer, details.await.unwrap())
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (Answer, String) {
        self.ask(Method::GET, path, headers).await
    }
}

async fn origin() -> Origin {
    let origin = Origin::start().await.unwrap();
    let reply = Reply::status(StatusCode::OK).header(LASTING.0, LASTING.1);
    // Without a date a copy is stored and never used; hyper adds one.
    origin.answer("/a", reply.header("etag", "\"1\""));
    origin
}

#[tokio::test]
async fn hits_are_known_by_their_details_and_their_age() {
    for cache in BOTH {
        let origin = origin().await;
        let cached = Cached::start(Envoy::builder().origin(&origin), cache).await;
        let (miss, details) = cached.get("/a", &[]).await;
        let told = match cache {
            Cache::V2 => "cache.insert_via_upstream",
            Cache::V1 => "via_upstream",
        };
        assert_eq!((details.as_str(), miss.header("age")), (told, None));
        for headers in [
            &[][..],
            &[("cache-control", "no-store")],
            &[("cookie", "a=b")],
            &[("x-api-key", "other")],
        ] {
            let (hit, details) = cached.get("/a", headers).await;
            assert_eq!(details, HIT, "{cache:?} {headers:?}");
            assert!(hit.header("age").is_some(), "{cache:?} {headers:?}");
        }
        assert_eq!(origin.count("/a"), 1);
        // These pass the cache by.
        for headers in [
            [("authorization", "Bearer x")],
            [("if-none-match", "\"1\"")],
            [("if-range", "\"1\"")],
        ] {
            let (_, details) = cached.get("/a", &headers).await;
            assert_eq!(details, "via_upstream", "{cache:?} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_change_drops_no_copy() {
    for cache in BOTH {
        let origin = origin().await;
        let cached = Cached::start(Envoy::builder().origin(&origin), cache).await;
        cached.get("/a", &[]).await;
        let (_, details) = cached.ask(Method::POST, "/a", &[]).await;
        assert_eq!(details, "via_upstream");
        assert_eq!(cached.get("/a", &[]).await.1, HIT, "{cache:?}");
    }
}

#[tokio::test]
async fn a_route_without_a_cluster_is_not_found_through_a_cache() {
    for cache in BOTH {
        let origin = origin().await;
        let builder = Envoy::builder().origin(&origin).routes(vec![
            json!({"match": {"path": "/red"}, "redirect": {"path_redirect": "/new"}}),
            json!({"match": {"path": "/own"}, "direct_response": {"status": 200}}),
        ]);
        let cached = Cached::start(builder, cache).await;
        for path in ["/red", "/own"] {
            let (answer, details) = cached.get(path, &[]).await;
            let found = (answer.status.as_u16(), details.as_str());
            assert_eq!(found, (404, "cache_no_route"), "{cache:?} {path}");
        }
        let (answer, details) = cached.ask(Method::POST, "/own", &[]).await;
        let found = (answer.status.as_u16(), details.as_str());
        assert_eq!(found, (200, "direct_response"), "{cache:?}");
    }
}

#[tokio::test]
async fn an_error_of_envoy_looks_like_the_origins_through_a_cache() {
    let nobody = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    for cache in BOTH {
        let cached = Cached::start(Envoy::builder().origin_at(nobody), cache).await;
        let (answer, details) = cached.get("/", &[]).await;
        let found = (answer.status.as_u16(), details.as_str());
        assert_eq!(found, (503, "via_upstream"), "{cache:?}");
        let (_, details) = cached.ask(Method::POST, "/", &[]).await;
        assert!(details.starts_with("upstream_reset_before_response_started"));
    }
}

#[tokio::test]
async fn a_confirmed_copy_takes_over_the_headers_of_the_confirmation() {
    for cache in BOTH {
        let origin = Origin::start().await.unwrap();
        let reply = |status, seal| {
            let reply = Reply::status(status).header("etag", "\"1\"");
            reply.header(LASTING.0, LASTING.1).header("x-seal", seal)
        };
        origin.answer("/a", reply(StatusCode::OK, "first").body("first"));
        let cached = Cached::start(Envoy::builder().origin(&origin), cache).await;
        cached.get("/a", &[]).await;
        origin.answer("/a", reply(StatusCode::NOT_MODIFIED, "second").body(""));
        cached.get("/a", &[("cache-control", "no-cache")]).await;
        let (answer, details) = cached.get("/a", &[]).await;
        assert_eq!(details, HIT);
        let found = (answer.text(), answer.header("x-seal"));
        assert_eq!(found, ("first".into(), Some("second")), "{cache:?}");
    }
}

#[tokio::test]
async fn the_older_cache_never_ends_a_range_of_a_copy() {
    let origin = origin().await;
    let cached = Cached::start(Envoy::builder().origin(&origin), Cache::V1).await;
    cached.get("/a", &[]).await;
    let authority = cached.envoy.authority();
    let request = format!(
        "GET /a HTTP/1.1\r\nhost: {authority}\r\nrange: bytes=0-0\r\nconnection: close\r\n\r\n"
    );
    let exchange = raw::exchange(&authority, request.as_bytes());
    let ended = tokio::time::timeout(std::time::Duration::from_secs(2), exchange).await;
    assert!(ended.is_err(), "it does now: say so in envoy/cache.yaml");
}
