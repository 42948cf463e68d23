//! The crash of a worker's VM. The module never panics of itself; its test build does when a request asks for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::{Client, Envoy, eventually, repo};

const SOON: Duration = Duration::from_secs(20);

/// Enough connections that both workers have some.
const CONNECTIONS: usize = 16;

fn policy() -> Value {
    json!({
        "policy": "trap", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": "1/h", "burst": 3,
            "overrides": {"account": {"steady": {"rate": "100000/s", "burst": 100_000}}},
        }},
        "always": ["account"],
    })
}

async fn start(module: &str, workers: u32) -> Envoy {
    let builder = Envoy::builder().concurrency(workers).policy(&policy());
    let module = repo().join("dist").join(module);
    builder.module(module).start().await.unwrap()
}

/// The status of an answer on this client's connection.
async fn ask(client: &Client, envoy: &Envoy, account: &str) -> u16 {
    let call = client.get(envoy.at("/")).header("x-account", account);
    call.send().await.unwrap().status.as_u16()
}

/// Takes down the VM of the worker that this client's connection is on.
async fn trap(client: &Client, envoy: &Envoy) {
    let call = client.get(envoy.at("/")).header("x-test-trap", "1");
    assert_eq!(call.send().await.unwrap().status, 503);
}

/// What each connection is answered.
async fn each(clients: &[Client], envoy: &Envoy, account: &str) -> Vec<u16> {
    let mut statuses = Vec::new();
    for client in clients {
        statuses.push(ask(client, envoy, account).await);
    }
    statuses
}

#[tokio::test]
async fn a_vm_comes_back_by_itself_and_no_bucket_is_filled() {
    let envoy = start("tidegate-test.wasm", 1).await;
    let client = Client::h1();
    for status in [200, 200, 200, 429] {
        assert_eq!(ask(&client, &envoy, "drained").await, status);
    }
    for _ in 0..2 {
        trap(&client, &envoy).await;
        eventually(SOON, async || {
            let status = ask(&client, &envoy, "drained").await;
            assert_ne!(status, 200, "a bucket was filled");
            ensure!(status == 429, "status {status}");
            Ok(())
        })
        .await
        .unwrap();
    }
    assert_eq!(ask(&client, &envoy, "steady").await, 200);
}

/// Under the names that envoy/prometheus/rules.yaml has, and with the details that docs/runbook.md has.
#[tokio::test]
async fn a_crash_is_told_to_whoever_watches() {
    let envoy = start("tidegate-test.wasm", 1).await;
    let client = Client::h1();
    let counted = async |what: &str| {
        let name = format!("envoy_wasm_tidegate_vm_reload_{what}");
        envoy
            .sample(&name, &[])
            .await
            .map(Option::unwrap_or_default)
    };
    eventually(SOON, async || {
        trap(&client, &envoy).await;
        let (replaced, waited) = (counted("success").await?, counted("backoff").await?);
        ensure!(
            replaced >= 1.0 && waited >= 1.0,
            "{replaced} replaced, {waited} waited"
        );
        Ok(())
    })
    .await
    .unwrap();
    eventually(SOON, async || {
        let log = envoy.access_log()?;
        let failed = log.iter().find(|line| line["status"] == 503);
        let details = failed.map(|line| line["details"].clone());
        ensure!(details == Some(json!("wasm_fail_stream")), "{details:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_other_worker_serves_while_one_is_down() {
    let envoy = start("tidegate-test.wasm", 2).await;
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::h1()).collect();
    for client in clients.iter().take(3) {
        assert_eq!(ask(client, &envoy, "drained").await, 200);
    }
    assert_eq!(each(&clients, &envoy, "drained").await, [429; CONNECTIONS]);

    // The first time a VM comes back at once; taken down again, it is away for a second, and its worker answers 503.
    let (victim, others) = clients.split_first().unwrap();
    let down = eventually(SOON, async || {
        trap(victim, &envoy).await;
        let statuses = each(others, &envoy, "steady").await;
        ensure!(statuses.contains(&503), "the VM is up");
        Ok(statuses)
    })
    .await
    .unwrap();
    assert!(down.contains(&200), "no other worker served: {down:?}");
    assert!(
        down.iter().all(|status| [200, 503].contains(status)),
        "{down:?}"
    );

    eventually(SOON, async || {
        let statuses = each(&clients, &envoy, "steady").await;
        ensure!(statuses == [200; CONNECTIONS], "{statuses:?}");
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(each(&clients, &envoy, "drained").await, [429; CONNECTIONS]);
}

#[tokio::test]
async fn the_module_that_is_shipped_has_no_such_switch() {
    let envoy = start("tidegate.wasm", 1).await;
    let call = Client::h1().get(envoy.at("/")).header("x-test-trap", "1");
    assert_eq!(call.send().await.unwrap().status, 200);
    assert_eq!(ask(&Client::h1(), &envoy, "steady").await, 200);
}
