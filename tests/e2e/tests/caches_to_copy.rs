//! The VCL and the nginx.conf that are there to copy, run with a client that says what the gate would say and an origin that
//! answers what the role `origin` would let out.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::net::SocketAddr;

use http::{Method, StatusCode};
use tidegate_e2e::cache::{self, Nginx, Varnish};
use tidegate_e2e::{Answer, Client, Origin, Reply, repo};

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A cache with an origin behind it, and what the gate would say.
struct Edge {
    origin: Origin,
    cache: SocketAddr,
}

impl Edge {
    async fn call(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let url = format!("http://{}{path}", self.cache);
        let mut call = Client::h1().call(method, url);
        for (name, value) in headers {
            call = call.header(name, value);
        }
        let answer = call.send().await.unwrap();
        let helpers: Vec<_> = answer.headers.keys().collect();
        let helpers = helpers.iter().filter(|n| n.as_str().starts_with("x-copy"));
        assert_eq!(helpers.count(), 0, "{answer:?}");
        answer
    }

    async fn scoped(&self, method: Method, path: &str, scope: &str) -> Answer {
        let headers = [("x-tidegate-cache", "scoped"), ("x-tidegate-scope", scope)];
        self.call(method, path, &headers).await
    }

    /// How many of some GETs in a row with these headers got to the origin.
    async fn misses(&self, path: &str, headers: &[(&str, &str)]) -> u64 {
        self.origin.forget();
        for _ in 0..3 {
            assert_eq!(self.call(Method::GET, path, headers).await.status, 200);
        }
        self.origin.total()
    }

    fn lasting(&self, path: &str) {
        let reply = Reply::status(StatusCode::OK);
        self.origin
            .answer(path, reply.header("cache-control", "public, max-age=60"));
    }

    async fn keeps_what_it_may(&self) {
        for path in ["/a", "/b", "/c", "/d", "/e"] {
            self.lasting(path);
        }
        let scoped = |scope| [("x-tidegate-cache", "scoped"), ("x-tidegate-scope", scope)];
        assert_eq!(self.misses("/a?q=1", &scoped(A)).await, 1);
        assert_eq!(self.misses("/a?q=1", &scoped(B)).await, 1);
        assert_eq!(self.misses("/a?q=1", &scoped(A)).await, 0);
        // A copy is not shared between hosts, and credentials are no reason against it.
        let other = [("host", "other.example"), ("cookie", "a=b")];
        let other = [&scoped(A)[..], &other, &[("authorization", "Bearer x")]].concat();
        assert_eq!(self.misses("/a?q=1", &other).await, 1);
        let flagged = [("x-tidegate-cache", "scoped;x=1"), ("x-tidegate-scope", A)];
        assert_eq!(self.misses("/a?q=1", &flagged).await, 0);

        assert_eq!(
            self.misses("/b", &[("x-tidegate-cache", "public")]).await,
            1
        );
        assert_eq!(self.misses("/b", &scoped(A)).await, 1);
        for word in ["bypass", "off", "scopedness", ""] {
            let headers = [("x-tidegate-cache", word), ("x-tidegate-scope", A)];
            assert_eq!(self.misses("/c", &headers).await, 3, "{word}");
            assert_eq!(self.misses("/b", &headers).await, 3, "{word}");
        }
        assert_eq!(self.misses("/d", &[]).await, 3);
        for scope in ["", "short", &A.to_uppercase()] {
            assert_eq!(self.misses("/e", &scoped(scope)).await, 3, "{scope}");
        }
    }

    /// Answers with these header lines are not stored.
    async fn stores_none(&self, all: &[&[(&'static str, &str)]]) {
        for (n, lines) in all.iter().enumerate() {
            let path = format!("/forbidden/{n}");
            let mut reply = Reply::status(StatusCode::OK);
            for (name, value) in *lines {
                reply = reply.header(name, value);
            }
            self.origin.answer(&path, reply);
            let scoped = [("x-tidegate-cache", "scoped"), ("x-tidegate-scope", A)];
            assert_eq!(self.misses(&path, &scoped).await, 3, "{lines:?}");
        }
    }

    /// What goes through the cache is as it was.
    async fn changes_nothing(&self) {
        let path = "/x%2fy/%C3%A9?a=%zz&&b=%20";
        self.scoped(Method::GET, path, A).await;
        let seen = self.origin.last("/x%2fy/%C3%A9").unwrap();
        assert_eq!(seen.path, path);
        assert_eq!(seen.headers["host"], self.cache.to_string());
        assert_eq!(seen.headers["x-tidegate-scope"], A);
    }
}

async fn varnish(file: &str, port: &str) -> (Edge, Varnish) {
    let origin = Origin::start().await.unwrap();
    let vcl = fs::read_to_string(repo().join("envoy/varnish").join(file)).unwrap();
    let own = format!(".port = \"{}\"", origin.address().port());
    let placed = vcl.replace(&format!(".port = \"{port}\""), &own);
    assert_ne!(vcl, placed);
    let varnish = Varnish::start(&placed).await.unwrap();
    let cache = varnish.address();
    (Edge { origin, cache }, varnish)
}

async fn drops_what_changed(edge: &Edge) {
    for path in ["/orders/1", "/orders/10"] {
        edge.lasting(path);
    }
    let scoped = |scope| [("x-tidegate-cache", "scoped"), ("x-tidegate-scope", scope)];
    for (path, scope) in [
        ("/orders/1", A),
        ("/orders/1?q=a&&b", A),
        ("/orders/10", A),
        ("/orders/1", B),
    ] {
        assert_eq!(edge.misses(path, &scoped(scope)).await, 1);
    }
    // What fails or changes nothing drops nothing.
    for (method, path) in [
        (Method::OPTIONS, "/orders/1"),
        (Method::POST, "/status/500"),
    ] {
        edge.scoped(method, path, A).await;
    }
    assert_eq!(edge.misses("/orders/1", &scoped(A)).await, 0);

    edge.scoped(Method::POST, "/orders/1?q=c", A).await;
    for (path, scope, misses) in [
        ("/orders/1", A, 1),
        ("/orders/1?q=a&&b", A, 1),
        ("/orders/10", A, 0),
        ("/orders/1", B, 0),
    ] {
        assert_eq!(edge.misses(path, &scoped(scope)).await, misses, "{path}");
    }
    // A public copy is dropped by a change that is marked as public.
    let public = [("x-tidegate-cache", "public")];
    assert_eq!(edge.misses("/orders/1", &public).await, 1);
    edge.scoped(Method::DELETE, "/orders/1", A).await;
    assert_eq!(edge.misses("/orders/1", &public).await, 0);
    edge.call(Method::DELETE, "/orders/1", &public).await;
    assert_eq!(edge.misses("/orders/1", &public).await, 1);
}

#[tokio::test]
async fn varnish_with_a_sidecar() {
    if cache::skipped(Varnish::PROGRAM) {
        return;
    }
    let (edge, _varnish) = varnish("default.vcl", "10001").await;
    edge.keeps_what_it_may().await;
    edge.stores_none(&[
        &[("cache-control", "no-store")],
        &[],
        &[("cache-control", "public")],
        &[
            ("cache-control", "public"),
            ("cache-control", "no-store, max-age=9"),
        ],
    ])
    .await;
    edge.changes_nothing().await;
    drops_what_changed(&edge).await;
}

#[tokio::test]
async fn varnish_without_a_sidecar_judges_and_seals() {
    if cache::skipped(Varnish::PROGRAM) {
        return;
    }
    let (edge, _varnish) = varnish("no-sidecar.vcl", "8080").await;
    edge.keeps_what_it_may().await;
    let lasting = ("cache-control", "max-age=60");
    edge.stores_none(&[
        &[("cache-control", "no-store")],
        &[],
        &[lasting, ("cache-control", "Private")],
        &[lasting, ("set-cookie", "a=b")],
        &[lasting, ("vary", "accept"), ("vary", "*")],
    ])
    .await;
    edge.changes_nothing().await;
    drops_what_changed(&edge).await;

    let forged = Reply::status(StatusCode::OK).header("x-tidegate-seal", B);
    edge.origin
        .answer("/sealed", forged.header("cache-control", "max-age=60"));
    for _ in 0..2 {
        let answer = edge.scoped(Method::GET, "/sealed", A).await;
        assert_eq!(answer.header("x-tidegate-seal"), Some(A));
    }
    assert_eq!(edge.origin.count("/sealed"), 1);
    let answer = edge.scoped(Method::POST, "/sealed", B).await;
    assert_eq!(answer.header("x-tidegate-seal"), Some(B));

    // Asked for with credentials, which are there or were: only what the application calls public.
    let reply = Reply::status(StatusCode::OK);
    edge.origin
        .answer("/mine", reply.header("cache-control", "max-age=60"));
    edge.lasting("/all");
    let bearer = ("authorization", "Bearer x");
    for told in [
        &[("x-tidegate-cache", "public"), bearer][..],
        &[("x-tidegate-cache", "public;authorized")],
        &[
            ("x-tidegate-cache", "scoped;own;authorized"),
            ("x-tidegate-scope", A),
        ],
    ] {
        assert_eq!(edge.misses("/mine", told).await, 3, "{told:?}");
        assert!(edge.misses("/all", told).await <= 1, "{told:?}");
        assert_eq!(edge.misses("/all", told).await, 0, "{told:?}");
    }
}

#[tokio::test]
async fn nginx_with_a_sidecar() {
    if cache::skipped(Nginx::PROGRAM) {
        return;
    }
    let origin = Origin::start().await.unwrap();
    let conf = fs::read_to_string(repo().join("envoy/nginx/nginx.conf")).unwrap();
    let own = format!("server {};", origin.address());
    let placed = conf.replace("server 127.0.0.1:10001;", &own);
    assert_ne!(conf, placed);
    let nginx = Nginx::start(&placed).await.unwrap();
    let cache = nginx.address();
    let edge = Edge { origin, cache };
    edge.keeps_what_it_may().await;
    let later = "Thu, 31 Dec 2099 23:59:59 GMT";
    edge.stores_none(&[
        &[("cache-control", "no-store")],
        &[],
        &[("expires", later), ("cache-control", "no-store")],
        &[("x-accel-expires", "60"), ("cache-control", "no-store")],
        &[
            ("cache-control", "max-age=9"),
            ("cache-control", "no-store"),
        ],
    ])
    .await;
    edge.changes_nothing().await;
}
