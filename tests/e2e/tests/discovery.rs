//! What Envoy does with policies and modules that are shipped while it runs, shown by a module of a few lines (tiny.wat).

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use tidegate_e2e::envoy::{Builder, Reload};
use tidegate_e2e::{Answer, Client, Envoy, eventually};

const SOON: Duration = Duration::from_secs(10);

/// More than the module takes.
const TOO_LONG: usize = 100;

fn module(folder: &TempDir, name: &str, header: &str) -> PathBuf {
    let text = include_str!("tiny.wat").replace("\"x-size\"", &format!("\"{header}\""));
    let path = folder.path().join(name);
    std::fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
    path
}

fn with(folder: &TempDir, policy_len: usize) -> Builder {
    Envoy::builder()
        .concurrency(2)
        .module(module(folder, "tiny.wasm", "x-size"))
        .policy_text("p".repeat(policy_len))
}

/// An answer on a connection of its own, so that any worker may give it.
async fn get(envoy: &Envoy) -> Result<Answer> {
    Client::h1().get(envoy.at("/")).send().await
}

async fn becomes(envoy: &Envoy, header: &str, value: &str) {
    eventually(SOON, async || {
        let answer = get(envoy).await?;
        ensure!(answer.header(header) == Some(value), "{answer:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_mounted_module_reads_its_policy() {
    let folder = tempfile::tempdir().unwrap();
    let envoy = with(&folder, 7).start().await.unwrap();
    assert_eq!(get(&envoy).await.unwrap().header("x-size"), Some("7"));
}

#[tokio::test]
async fn a_policy_that_is_refused_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for builder in [with(&folder, TOO_LONG), with(&folder, TOO_LONG).ecds()] {
        let refusal = builder.try_start().await.unwrap().unwrap_err();
        assert!(
            refusal.log.contains("Unable to create Wasm plugin"),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn policies_are_exchanged_and_bad_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let envoy = with(&folder, 1).ecds().start().await.unwrap();
    becomes(&envoy, "x-size", "1").await;
    let ship = async |len| envoy.update_policy_text("p".repeat(len)).await.unwrap();

    assert_eq!(ship(2).await, Reload::Accepted);
    becomes(&envoy, "x-size", "2").await;
    // The second time Envoy does not look at it, and counts it as taken.
    for _ in 0..2 {
        assert_eq!(ship(TOO_LONG).await, Reload::Rejected);
        becomes(&envoy, "x-size", "2").await;
    }
    assert_eq!(ship(3).await, Reload::Accepted);
    becomes(&envoy, "x-size", "3").await;
}

#[tokio::test]
async fn modules_are_exchanged_without_a_failed_request() {
    let folder = tempfile::tempdir().unwrap();
    let next = module(&folder, "next.wasm", "x-next");
    let envoy = with(&folder, 4).ecds().start().await.unwrap();
    becomes(&envoy, "x-size", "4").await;

    let load = async {
        loop {
            let answer = get(&envoy).await.unwrap();
            assert_eq!(answer.status, 200);
            if answer.header("x-next").is_some() {
                break;
            }
        }
    };
    let (shipped, ()) = tokio::join!(envoy.update_module(&next), load);
    assert_eq!(shipped.unwrap(), Reload::Accepted);
    becomes(&envoy, "x-next", "4").await;
}
