//! In shadow nothing changes: neither for the caller, nor for the cache, nor for the origin.

use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Answer, Client, Envoy, Origin};

use crate::stand::{Kind, policy};
use crate::{SAY, lines};

const SAID: &[(&str, &str)] = &[
    ("cache-control", "Public, max-age=600"),
    ("cdn-cache-control", "max-age=5"),
    ("cache-status", "app; hit"),
    ("surrogate-control", "max-age=5"),
    ("no-vary-search", "params"),
    ("etag", "\"1\""),
];

/// A status, headers and a body that are the same for the same request, whichever Envoy it went through.
fn shown(answer: &Answer, envoy: &Envoy) -> String {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .map(|line| format!("{line:?}"))
        .collect();
    headers.retain(|line| {
        ["\"date\"", "\"age\"", "x-envoy-upstream-service-time"]
            .iter()
            .all(|name| !line.contains(name))
    });
    let text = format!("{} {headers:#?} {}", answer.status, answer.text());
    // What the origin saw: the id of the request is a new one each time.
    let text = match text.split_once("\"x-request-id\",\"") {
        None => text,
        Some((before, rest)) => {
            let (_, after) = rest.split_once('"').unwrap();
            format!("{before}ID{after}")
        }
    };
    text.replace(&envoy.authority(), "AUTHORITY")
}

/// What becomes of some requests, of callers and of nobody, and how many of them got to the origin.
async fn told(builder: Builder, origin: &Origin) -> (Vec<String>, u64) {
    origin.forget();
    let envoy = builder.origin(origin).start().await.unwrap();
    let mut told = Vec::new();
    for (method, path, caller) in [
        (Method::GET, "/mine/x?a=1", "amy"),
        // Without us, bob gets what was made for amy.
        (Method::GET, "/mine/x?a=1", "bob"),
        (Method::GET, "/mine/x?a=1", ""),
        (Method::POST, "/mine/x?a=1", "amy"),
        (Method::GET, "/mine/x?a=1", "amy"),
        (Method::HEAD, "/mine/x?a=1", "amy"),
    ] {
        let mut call = Client::h1().call(method, envoy.at(path));
        if !caller.is_empty() {
            call = call.header("x-api-key", caller);
        }
        let answer = call.header(SAY, lines(SAID)).send().await.unwrap();
        told.push(shown(&answer, &envoy));
    }
    (told, origin.total())
}

/// The policy with its route `mine` in shadow.
fn route_in_shadow(mut policy: Value) -> Value {
    policy["routes"][0]["mode"] = json!("shadow");
    policy
}

fn in_shadow(mut policy: Value) -> Value {
    policy["mode"] = json!("shadow");
    policy
}

#[tokio::test]
async fn nothing_changes_in_shadow() {
    let origin = Origin::start().await.unwrap();
    for (kind, cache) in [(Kind::V2, Cache::V2), (Kind::V1, Cache::V1)] {
        let cached = || Envoy::builder().cache(cache);
        let bare = told(cached(), &origin).await;
        for policy in [in_shadow(policy(kind)), route_in_shadow(policy(kind))] {
            let builder = cached()
                .policy(&policy)
                .environment("TIDEGATE_SCOPE_KEY", "a key for tests")
                .origin_role();
            assert_eq!(told(builder, &origin).await, bare, "{kind:?} {policy}");
        }
    }
}
