//! A policy that keeps callers' copies apart is mounted behind the cache too, before the gate speaks of copies.

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client};

use crate::stand::{Stand, is_done, policy, told};
use crate::steady::Steady;

fn caching(version: &str) -> Value {
    let mut policy = policy(version);
    let orders = json!({"name": "orders", "match": {"path": "/orders"}, "cache": {"scope": ["account"], "by": "path"}});
    policy["routes"].as_array_mut().unwrap().push(orders);
    policy
}

async fn orders(stand: &Stand) -> Answer {
    let call = Client::h1().get(stand.envoy.shipped_at("/orders"));
    call.header("x-account", "steady").send().await.unwrap()
}

#[tokio::test]
async fn the_role_behind_the_cache_is_there_before_the_gate_marks_anything() {
    let stand = Stand::start(&policy("1")).await;
    stand.pack(&caching("2"), "second.wasm").await;
    assert_eq!(stand.drain("drained").await, 5);
    let mut steady = Steady::start(&stand.envoy.shipped_at("/orders"));
    steady.goes_on("without caches").await;
    assert!(!stand.shipped("origin.json").to_string().contains("wasm"));
    let done = stand.tool(&["ship", "second.wasm"]).await;
    is_done(&done);
    assert_eq!(told(&done)["vms"], 3);
    steady.goes_on("with caches").await;
    let answer = orders(&stand).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // The application sees the path as it was, and the caller sees nothing of ours.
    assert_eq!(stand.origin.last("/orders").unwrap().path, "/orders");
    assert!(
        answer
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("x-tidegate")),
        "{answer:?}"
    );
    let plugin = "/resources/0/typed_config/config";
    let origin = stand.shipped("origin.json");
    let field = |name: &str| origin.pointer(&format!("{plugin}/{name}")).cloned();
    assert_eq!(field("root_id"), Some(json!("origin")));
    assert_eq!(
        field("vm_config/vm_id"),
        Some(json!("tidegate-shop-origin"))
    );

    is_done(&stand.tool(&["rollback"]).await);
    steady.goes_on("without caches again").await;
    steady.stop().await;
    // It stays, with the gate's module: a request may be under way that the gate has marked.
    let origin = stand.shipped("origin.json").to_string();
    assert!(origin.contains("shop-1-"), "{origin}");
    assert_eq!(orders(&stand).await.status, 200);
}
