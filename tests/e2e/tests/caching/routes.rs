//! The route that Envoy chose for the request of the client is the one that it takes, marked or not.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply};

use crate::stand::{Kind, Setup, Stand, mismatches, policy};
use crate::{PUBLIC, all, is_clean};

const OTHER: u16 = 418;

/// A route to the origin with these conditions.
fn intended(conditions: Value) -> Value {
    route(Some("intended"), conditions, json!({"cluster": "origin"}))
}

fn route(name: Option<&str>, conditions: Value, action: Value) -> Value {
    let mut route = json!({"match": conditions, "route": action});
    if let Some(name) = name {
        route["name"] = json!(name);
    }
    route
}

/// Where a request goes that is not meant to.
fn elsewhere(conditions: Value) -> Value {
    json!({"name": "elsewhere", "match": conditions, "direct_response": {"status": OTHER}})
}

async fn with_routes(kind: Kind, routes: Vec<Value>) -> Stand {
    Setup::new(kind)
        .gate(|gate| gate.routes(routes))
        .start()
        .await
}

fn any() -> Value {
    json!({"prefix": "/"})
}

fn with(mut conditions: Value, name: &str, value: Value) -> Value {
    conditions[name] = value;
    conditions
}

/// Two answers for each of two callers, all of them from the origin.
async fn twice(stand: &Stand, path: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    for caller in ["amy", "bob", "amy", "bob"] {
        let answer = stand.get(path, caller, PUBLIC).await;
        assert_eq!(answer.status, 200, "{path} {answer:?}");
        assert!(answer.text().contains(caller), "{path} {answer:?}");
        assert_eq!(answer.json().unwrap()["path"], path);
        is_clean(&answer);
        answers.push(answer);
    }
    answers
}

/// Where the mark would lead elsewhere the request goes unmarked, past every copy.
async fn is_uncached(stand: &Stand, path: &str) {
    // What no cache keeps has no mark, and so takes the intended route in any case.
    let unmarked = stand.call(Method::POST, path, "amy").send().await.unwrap();
    assert_eq!(unmarked.status, 200, "{path} {unmarked:?}");
    stand.origin.forget();
    for answer in twice(stand, path).await {
        assert_eq!(all(&answer, "cache-status"), "tidegate; fwd=bypass");
        assert_eq!(all(&answer, "cache-control"), "private, max-age=600");
    }
    assert_eq!(stand.origin.total(), 4, "{path}");
    assert_eq!(stand.mismatches().await, 0);
}

async fn is_cached(stand: &Stand, path: &str) {
    let answers = twice(stand, path).await;
    assert_eq!(all(&answers[3], "cache-status"), "tidegate; hit");
    assert_eq!(stand.origin.total(), 2, "{path}");
    assert_eq!(stand.mismatches().await, 0);
}

#[tokio::test]
async fn c11_a_mark_that_would_lead_elsewhere_is_left_out() {
    let by_path = |matcher: Value| {
        let mut header = json!({"name": ":path"});
        header["string_match"] = matcher;
        with(any(), "headers", json!([header]))
    };
    let parameter = |value: Value| with(any(), "query_parameters", json!([value]));
    let mark = json!({"name": "__tidegate", "present_match": true});
    let cases = [
        // The whole path with its query has to be this.
        vec![
            intended(by_path(json!({"exact": "/mine/x?a=1"}))),
            elsewhere(any()),
        ],
        vec![
            intended(by_path(json!({"safe_regex": {"regex": "/mine/x[?]a=1"}}))),
            elsewhere(any()),
        ],
        vec![intended(by_path(json!({"suffix": "a=1"})))],
        // The mark itself leads elsewhere.
        vec![elsewhere(parameter(mark.clone())), intended(any())],
        vec![
            elsewhere(by_path(json!({"contains": "__tidegate"}))),
            intended(any()),
        ],
        // Routes without names, which differ by where they lead.
        vec![
            route(
                None,
                by_path(json!({"exact": "/mine/x?a=1"})),
                json!({"cluster": "origin"}),
            ),
            json!({"match": any(), "direct_response": {"status": OTHER}}),
        ],
    ];
    for (n, routes) in cases.into_iter().enumerate() {
        // The gate decides before there is a cache: one of them will do for most.
        let kind = Kind::ENVOYS[n % 2];
        let stand = with_routes(kind, routes).await;
        // Envoy shows where a marked path leads only when the answer is there: it is hidden, and the way remembered.
        let first = stand.get("/mine/x?a=1", "amy", PUBLIC).await;
        assert_eq!(first.status, 500, "{n}");
        assert_eq!(
            first.problem().unwrap()["type"],
            "urn:tidegate:problem:route-changed"
        );
        stand.origin.forget();
        is_uncached(&stand, "/mine/x?a=1").await;
    }
}

#[tokio::test]
async fn c11_a_mark_that_leads_nowhere_else_is_set() {
    let parameter = |value: Value| with(any(), "query_parameters", json!([value]));
    for kind in Kind::ENVOYS {
        let routes = vec![
            intended(parameter(
                json!({"name": "a", "string_match": {"exact": "1"}}),
            )),
            elsewhere(any()),
        ];
        let stand = with_routes(kind, routes).await;
        is_cached(&stand, "/mine/x?a=1").await;
        let answer = stand.get("/mine/x?a=2", "amy", PUBLIC).await;
        // Through a cache a route without a cluster is none.
        assert!([404, OTHER].contains(&answer.status.as_u16()), "{answer:?}");
        is_clean(&answer);
    }
}

/// What the origin saw of each of these paths, by an Envoy that rewrites them: the new one, and what Envoy says was there
/// before.
async fn rewritten(builder: Builder, origin: &Origin) -> Vec<[String; 2]> {
    let rewrite = |prefix: &str, rewrite: Value| {
        let mut route = intended(json!({"prefix": prefix}));
        route["route"]["cluster"] = json!("origin");
        for (name, value) in rewrite.as_object().unwrap() {
            route["route"][name] = value.clone();
        }
        route
    };
    let regex = |regex: &str, substitution: &str| json!({"regex_rewrite": {"pattern": {"regex": regex}, "substitution": substitution}});
    let builder = builder.origin(origin).routes(vec![
        rewrite("/mine/prefix/", json!({"prefix_rewrite": "/new/"})),
        rewrite("/mine/regex/", regex("^/mine/(.*)$", "/\\1/end")),
        rewrite("/mine/query/", regex("^/mine/(.*)$", "/\\1?own=1")),
    ]);
    let envoy = builder.start().await.unwrap();
    let mut seen = Vec::new();
    for path in [
        "/mine/prefix/a",
        "/mine/prefix/a?b=1&c",
        "/mine/regex/a",
        "/mine/regex/a?b=1",
        "/mine/query/a",
    ] {
        let call = Client::h1().get(envoy.at(path)).header("x-api-key", "amy");
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status, 200, "{path} {answer:?}");
        let echo = answer.json().unwrap();
        let headers = echo["headers"].as_array().unwrap().iter();
        let mut original = headers.filter(|line| line[0] == "x-envoy-original-path");
        let original = original.next().map_or("", |line| line[1].as_str().unwrap());
        seen.push([
            echo["path"].as_str().unwrap().to_owned(),
            original.to_owned(),
        ]);
    }
    seen
}

fn gated(builder: Builder) -> Builder {
    let builder = builder.policy(&policy(Kind::V2)).origin_role();
    builder.environment("TIDEGATE_SCOPE_KEY", "a key for tests")
}

#[tokio::test]
async fn c11_what_envoys_route_makes_of_a_path_is_what_it_makes_without_a_mark() {
    let origin = Origin::start().await.unwrap();
    let paths = async |builder: Builder| -> Vec<String> {
        let seen = rewritten(builder, &origin).await;
        seen.into_iter().map(|[path, _]| path).collect()
    };
    let without = paths(Envoy::builder()).await;
    assert_eq!(without[1], "/new/a?b=1&c");
    assert_eq!(paths(gated(Envoy::builder())).await, without);
    for cache in [Cache::V2, Cache::V1] {
        let cached = || Envoy::builder().cache(cache);
        let without = paths(cached()).await;
        assert_eq!(paths(gated(cached())).await, without, "{cache:?}");
    }
}

#[tokio::test]
async fn c11_what_envoy_says_of_the_path_before_is_the_clients() {
    let origin = Origin::start().await.unwrap();
    let without = rewritten(Envoy::builder(), &origin).await;
    assert_eq!(without[1][1], "/mine/prefix/a?b=1&c");
    let with = rewritten(gated(Envoy::builder()), &origin).await;
    assert_eq!(with, without);
}

#[tokio::test]
async fn c11_each_attempt_has_the_path_of_the_client_and_the_last_one_is_sealed() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .policy(&policy(Kind::V2))
        .environment("TIDEGATE_SCOPE_KEY", "a key for tests")
        .origin(&origin)
        .origin_role()
        .retry(json!({"retry_on": "5xx", "num_retries": 1}))
        .start()
        .await
        .unwrap();
    let path = "/mine/x?a=1";
    let failing = Reply::status(StatusCode::SERVICE_UNAVAILABLE);
    origin.answer("/mine/x", failing.after(Duration::from_millis(300)));
    let call = Client::h1().get(envoy.at(path)).header("x-api-key", "amy");
    let turn = async {
        let arrived = tidegate_e2e::eventually(Duration::from_secs(5), async || {
            anyhow::ensure!(origin.count("/mine/x") > 0, "not yet");
            Ok(())
        });
        arrived.await.unwrap();
        // The first attempt fails by what it found; the next finds this.
        origin.answer("/mine/x", Reply::status(StatusCode::OK));
    };
    let (answer, ()) = tokio::join!(call.send(), turn);
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json().unwrap()["path"], path);
    assert_eq!(all(&answer, "cache-control"), "private");
    is_clean(&answer);
    let seen = origin.seen("/mine/x");
    assert_eq!(seen.len(), 2);
    for seen in seen {
        assert_eq!(seen.path, path);
        let mut names = seen.headers.keys();
        assert!(
            !names.any(|name| name.as_str().starts_with("x-tidegate")),
            "{seen:?}"
        );
    }
    assert_eq!(mismatches(&envoy).await, 0);
}
