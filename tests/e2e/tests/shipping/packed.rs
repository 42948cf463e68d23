//! A packed module in Envoy: it is its own policy, and takes no other.

use std::path::Path;

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Client, Envoy, Origin, eventually, repo, tool};

use crate::stand::{SOON, is_done, policy};

async fn pack(folder: &Path, policy: &Value, more: &[&str]) {
    std::fs::write(folder.join("policy.json"), policy.to_string()).unwrap();
    let pack = ["pack", ".", "-o", "packed.wasm"];
    is_done(&tool::run(folder, &[&pack, more].concat()).await.unwrap());
}

async fn statuses(envoy: &Envoy, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        let call = Client::h1().get(envoy.at("/")).header("x-account", "a");
        statuses.push(call.send().await.unwrap().status.as_u16());
    }
    statuses
}

#[tokio::test]
async fn it_mounts_with_an_empty_configuration_or_what_holds_it_back() {
    let folder = tempfile::tempdir().unwrap();
    pack(folder.path(), &policy("1"), &[]).await;
    let with = |configuration: &str| {
        Envoy::builder()
            .module(folder.path().join("packed.wasm"))
            .policy_text(configuration)
            .start()
    };
    let enforced = with("").await.unwrap();
    assert_eq!(statuses(&enforced, 6).await, [200, 200, 200, 200, 200, 429]);
    let shadow = with(r#"{"mode": "shadow"}"#).await.unwrap();
    assert_eq!(statuses(&shadow, 6).await, [200; 6]);
    pack(folder.path(), &policy("1"), &["--mode", "shadow"]).await;
    let packed_so = with("").await.unwrap();
    assert_eq!(statuses(&packed_so, 6).await, [200; 6]);
}

/// A promotion of a policy with a canary of its own: plainly in force, where a share of 100 is the last step before.
#[tokio::test]
async fn it_is_enforced_for_everybody_whatever_canary_it_was_packed_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = policy("1");
    own["canary"] = json!({"percent": 5});
    own["routes"] =
        json!([{"name": "mine", "match": {"path": "/mine"}, "cache": {"scope": ["account"]}}]);
    pack(folder.path(), &own, &[]).await;
    for (configuration, like, copies) in [
        (r#"{"mode": "enforce"}"#, "", 2),
        (r#"{"canary": {"percent": 100}}"#, "canary-", 1),
    ] {
        let origin = Origin::start().await.unwrap();
        let envoy = Envoy::builder()
            .module(folder.path().join("packed.wasm"))
            .policy_text(configuration)
            .cache(Cache::V2)
            .origin(&origin)
            .origin_role();
        let envoy = envoy.start().await.unwrap();
        // Whoever asks first fills the one copy, or his own.
        for account in ["amy", "ben", "amy", "ben"] {
            let call = Client::h1().get(envoy.at("/mine"));
            let call = call.header("x-account", account);
            let public = r#"[["cache-control", "public, max-age=60"]]"#;
            let call = call.header("x-origin-respond-headers", public);
            assert_eq!(call.send().await.unwrap().status, 200);
        }
        assert_eq!(origin.count("/mine"), copies, "{configuration}");
        assert_eq!(statuses(&envoy, 6).await, [200, 200, 200, 200, 200, 429]);
        eventually(SOON, async || {
            let allowed = envoy.decisions("none", &format!("{like}allowed")).await?;
            let refused = envoy
                .decisions("account", &format!("{like}refused"))
                .await?;
            ensure!((allowed, refused) == (9, 1), "{allowed} {refused}");
            let labels = [("version", "1"), ("enforced", "100")];
            let run = envoy.sample("tidegate_workers", &labels).await?;
            ensure!(run == Some(2.0), "{run:?}");
            Ok(())
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn it_refuses_another_policy_with_that_reason() {
    let folder = tempfile::tempdir().unwrap();
    pack(folder.path(), &policy("1"), &[]).await;
    let other = json!({"policy": "other", "version": "1"});
    let start = Envoy::builder()
        .module(folder.path().join("packed.wasm"))
        .policy(&other)
        .try_start();
    let refusal = start.await.unwrap().unwrap_err();
    let reason = "the module carries policy `shop` version `1` and takes no other";
    assert!(refusal.log.contains(reason), "{refusal}");
}

/// What the tool has inside is what the build left beside it.
#[tokio::test]
async fn the_engine_inside_the_tool_is_the_one_that_was_built() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = repo().join("dist/tidegate.wasm");
    pack(one.path(), &policy("1"), &[]).await;
    pack(
        two.path(),
        &policy("1"),
        &["--engine", engine.to_str().unwrap()],
    )
    .await;
    let read = |folder: &Path| std::fs::read(folder.join("packed.wasm")).unwrap();
    assert!(read(one.path()) == read(two.path()));
    let shown = tool::run(one.path(), &["inspect", "packed.wasm", "--format", "json"]);
    let shown: Value = serde_json::from_slice(&shown.await.unwrap().stdout).unwrap();
    assert_eq!(shown["repacks"], true);
    // A byte of the engine's code is none of the digest's, and is found all the same.
    let mut changed = read(one.path());
    let code = b"tidegate: ";
    let at = changed.windows(code.len()).position(|w| w == code).unwrap();
    changed[at] ^= 1;
    std::fs::write(one.path().join("packed.wasm"), changed).unwrap();
    let shown = tool::run(one.path(), &["inspect", "packed.wasm"])
        .await
        .unwrap();
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
}
