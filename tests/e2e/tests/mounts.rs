//! Where the module can be mounted, shown by a module of a few lines (tiny.wat) that adds the header `x-size` to responses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::json;
use tempfile::TempDir;
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Client, Envoy, Origin};

fn tiny(folder: &TempDir, origin: &Origin) -> Builder {
    let module = folder.path().join("tiny.wasm");
    std::fs::write(&module, wat::parse_str(include_str!("tiny.wat")).unwrap()).unwrap();
    let builder = Envoy::builder().origin(origin).module(module);
    builder.policy_text("seven b")
}

/// How often each of some requests in a row passed the module.
async fn passes<const N: usize>(builder: Builder) -> [usize; N] {
    let envoy = builder.start().await.unwrap();
    let mut passes = [0; N];
    for count in &mut passes {
        let call = Client::h1().get(envoy.at("/"));
        let headers = r#"[["cache-control", "max-age=60"]]"#;
        let call = call.header("x-origin-respond-headers", headers);
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status, 200);
        *count = answer.headers.get_all("x-size").iter().count();
    }
    passes
}

#[tokio::test]
async fn the_gate_and_the_origin_role_are_mounted_apart_or_both() {
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start().await.unwrap();
    let both = tiny(&folder, &origin).origin_role();
    assert_eq!(passes(both).await, [2]);
    let alone = tiny(&folder, &origin).origin_role().without_gate();
    assert_eq!(passes(alone).await, [1]);
    let neither = tiny(&folder, &origin).without_gate();
    assert_eq!(passes(neither).await, [0]);
}

#[tokio::test]
async fn what_the_origin_role_adds_is_stored_and_what_the_gate_adds_is_not() {
    for cache in [Cache::V2, Cache::V1] {
        let folder = tempfile::tempdir().unwrap();
        let origin = Origin::start().await.unwrap();
        let both = tiny(&folder, &origin).origin_role().cache(cache);
        assert_eq!(passes(both).await, [2, 2], "{cache:?}");
        assert_eq!(origin.total(), 1, "{cache:?}");
    }
}

#[tokio::test]
async fn routes_retries_and_local_replies_are_the_ones_given() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .origin(&origin)
        .routes(vec![
            json!({"name": "old", "match": {"path": "/old"}, "redirect": {"path_redirect": "/new"}}),
            json!({"name": "rest", "match": {"prefix": "/"}, "route": {"cluster": "origin"}}),
        ])
        .local_reply(json!({"body_format": {"text_format_source": {"inline_string": "code %RESPONSE_CODE%"}}}))
        .start()
        .await
        .unwrap();
    let answer = Client::h1().get(envoy.at("/old")).send().await.unwrap();
    assert_eq!(answer.status, 301);
    assert_eq!(answer.text(), "code 301");
    let answer = Client::h1().get(envoy.at("/new")).send().await.unwrap();
    assert_eq!(answer.status, 200);

    let retry = json!({"retry_on": "5xx", "num_retries": 2});
    let builder = Envoy::builder().origin(&origin).retry(retry);
    let envoy = builder.start().await.unwrap();
    let path = "/status/503";
    let answer = Client::h1().get(envoy.at(path)).send().await.unwrap();
    assert_eq!((answer.status.as_u16(), origin.count(path)), (503, 3));
}

/// What the origin got of each attempt: the values of `x-had`, which each attempt adds (attempt.wat).
async fn attempts(cache: Option<Cache>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start().await.unwrap();
    let module = folder.path().join("attempt.wasm");
    std::fs::write(
        &module,
        wat::parse_str(include_str!("attempt.wat")).unwrap(),
    )
    .unwrap();
    let mut builder = Envoy::builder()
        .origin(&origin)
        .module(module)
        .policy_text("{}")
        .origin_role()
        .without_gate()
        .retry(json!({"retry_on": "5xx", "num_retries": 1}));
    if let Some(cache) = cache {
        builder = builder.cache(cache);
    }
    let envoy = builder.start().await.unwrap();
    let path = "/status/503";
    let answer = Client::h1().get(envoy.at(path)).send().await.unwrap();
    assert_eq!(answer.status, 503);
    let seen = origin.seen(path);
    let had = seen.iter().map(|s| s.headers.get_all("x-had").iter());
    had.map(|values| values.map(|v| v.to_str().unwrap()).collect())
        .collect()
}

#[tokio::test]
async fn a_retry_finds_the_headers_as_changed_and_the_properties_that_were_set() {
    // So what the origin role removes before the first attempt is gone in the second; what it noted down is not.
    assert_eq!(attempts(None).await, ["1", "10"]);
    // A fill of the cache is a request of Envoy's own, which the route's retries are not for.
    for cache in [Cache::V2, Cache::V1] {
        assert_eq!(attempts(Some(cache)).await, ["1"], "{cache:?}");
    }
}
