//! What leaves is the origin's answer, or Envoy's, and nothing shows how the cache was told.

use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::{Client, Envoy, Origin};

use crate::stand::{Kind, Setup, mismatches, policy};
use crate::{PUBLIC, all, is_clean};

/// A scope by path, and no cache: Envoy's own answers get to the gate as they are.
fn bare() -> Builder {
    Envoy::builder()
        .policy(&policy(Kind::V2))
        .environment("TIDEGATE_SCOPE_KEY", "a key for tests")
}

#[tokio::test]
async fn c12_a_redirect_by_envoy_leads_to_the_path_that_was_asked_for() {
    let route =
        |path: &str, redirect: Value| json!({"match": {"prefix": path}, "redirect": redirect});
    let envoy = bare().routes(vec![
        route("/mine/host", json!({"host_redirect": "new.example"})),
        route("/mine/path", json!({"host_redirect": "n.example", "path_redirect": "/new"})),
        route("/mine/prefix", json!({"host_redirect": "n.example", "prefix_rewrite": "/new"})),
        route("/mine/regex", json!({
            "host_redirect": "n.example",
            "regex_rewrite": {"pattern": {"regex": "^/mine/regex(.*)$"}, "substitution": "/new\\1?own=1"},
        })),
        route("/mine/strip", json!({"host_redirect": "n.example", "strip_query": true})),
    ]);
    let envoy = envoy.start().await.unwrap();
    for (path, location) in [
        ("/mine/host", "http://new.example/mine/host"),
        ("/mine/host?a=1&b", "http://new.example/mine/host?a=1&b"),
        ("/mine/path", "http://n.example/new"),
        ("/mine/path?a=1", "http://n.example/new?a=1"),
        ("/mine/prefix/x", "http://n.example/new/x"),
        ("/mine/prefix/x?a", "http://n.example/new/x?a"),
        ("/mine/regex/x", "http://n.example/new/x?own=1"),
        ("/mine/strip?a=1", "http://n.example/mine/strip"),
    ] {
        for client in [Client::h1(), Client::h2()] {
            let call = client.get(envoy.at(path)).header("x-api-key", "amy");
            let answer = call.send().await.unwrap();
            assert_eq!(answer.status, 301, "{answer:?}");
            assert_eq!(answer.header("location"), Some(location), "{path}");
            is_clean(&answer);
        }
    }
    assert_eq!(mismatches(&envoy).await, 0);
}

/// What Envoy says shows the path, twice, and goes on for a while.
fn shows_the_path() -> Value {
    let rest = "x".repeat(20_000);
    json!({"body_format": {"text_format_source": {
        "inline_string": format!("%RESPONSE_CODE% [%REQ(:PATH)%] {rest} [%REQ(:PATH)%] end"),
    }}})
}

#[tokio::test]
async fn c12_what_envoy_says_by_itself_shows_the_path_that_was_asked_for() {
    let nobody = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let envoy = bare().origin_at(nobody).local_reply(shows_the_path()).routes(vec![
        json!({"match": {"prefix": "/mine/own"}, "direct_response": {"status": 418, "body": {"inline_string": "own"}}}),
        json!({"match": {"prefix": "/mine/down"}, "route": {"cluster": "origin"}}),
    ]);
    let envoy = envoy.start().await.unwrap();
    for (path, status) in [
        ("/mine/own", 418),
        ("/mine/own?a=1", 418),
        ("/mine/down?a=1", 503),
        ("/mine/none", 404),
    ] {
        for client in [Client::h1(), Client::h2()] {
            let call = client.get(envoy.at(path)).header("x-api-key", "amy");
            let answer = call.send().await.unwrap();
            assert_eq!(answer.status, status, "{path} {:?}", answer.headers);
            is_clean(&answer);
            let text = answer.text();
            let head = format!("{status} [{path}] x");
            assert!(text.starts_with(&head), "{path}: {:?}", text.get(..200));
            assert!(
                text.ends_with(&format!("x [{path}] end")),
                "{path}: {} bytes",
                text.len()
            );
            assert_eq!(text.len(), 20_000 + 12 + 2 * path.len() + 2);
            if let Some(length) = answer.header("content-length") {
                assert_eq!(length, text.len().to_string());
            }
            let call = client
                .call(Method::HEAD, envoy.at(path))
                .header("x-api-key", "amy");
            let answer = call.send().await.unwrap();
            assert_eq!(
                (answer.status.as_u16(), answer.body.len()),
                (status, 0),
                "{path}"
            );
            is_clean(&answer);
        }
    }
    assert_eq!(mismatches(&envoy).await, 0);
}

#[tokio::test]
async fn c24_what_caches_say_of_themselves_is_added_to() {
    for kind in Kind::ENVOYS {
        let stand = Setup::new(kind).start().await;
        let say = [
            PUBLIC[0],
            ("cache-status", "app; hit"),
            ("cache-status", "cdn; fwd=miss"),
        ];
        let status = async |path: &str, caller: &str| {
            let answer = stand.get(path, caller, &say).await;
            is_clean(&answer);
            all(&answer, "cache-status").replace(",cdn", ", cdn")
        };
        let own = "app; hit, cdn; fwd=miss";
        assert_eq!(status("/mine/x", "amy").await, own, "{kind:?}");
        let hit = format!("{own}, tidegate; hit");
        assert_eq!(status("/mine/x", "amy").await, hit, "{kind:?}");
        assert_eq!(status("/public/x", "amy").await, own, "{kind:?}");
        assert_eq!(status("/public/x", "bob").await, hit, "{kind:?}");
        let bypass = format!("{own}, tidegate; fwd=bypass");
        assert_eq!(status("/mine/x", "").await, bypass, "{kind:?}");
        assert_eq!(status("/other", "amy").await, own, "{kind:?}");
    }
}

/// Any origin will do: nothing gets there.
#[tokio::test]
async fn c9_a_marker_of_a_clients_own_is_refused() {
    let origin = Origin::start().await.unwrap();
    let envoy = bare().origin(&origin).origin_role().start().await.unwrap();
    let marker = "a".repeat(64);
    for path in ["/mine/x", "/public/x", "/other"] {
        let marked = envoy.at(&format!("{path}?a&__tidegate={marker}"));
        let calls = [
            Client::h1().get(marked),
            Client::h1()
                .get(envoy.at(path))
                .header("x-tidegate-scope", &marker),
            Client::h1()
                .get(envoy.at(path))
                .header("x-tidegate-cache", "public"),
            Client::h2()
                .get(envoy.at(path))
                .header("x-tidegate-seal", &marker),
        ];
        for call in calls {
            let answer = call.header("x-api-key", "amy").send().await.unwrap();
            assert_eq!(answer.status, 400, "{answer:?}");
        }
    }
    assert_eq!(origin.total(), 0);
}
