//! What changes while Envoy serves: the policy, a listener, the module. Nobody's request fails for it, and nobody's
//! bucket is filled.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

#[path = "reload/steady.rs"]
mod steady;

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Reload};
use tidegate_e2e::{Answer, Client, Envoy, eventually, repo};
use tokio::time::Instant;

use steady::Steady;

const SOON: Duration = Duration::from_secs(10);

/// One limit, and one account that it hardly holds back.
fn policy(version: &str, rate: &str, burst: u64) -> Value {
    json!({
        "policy": "reload", "version": version,
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": rate, "burst": burst,
            "overrides": {"account": {"steady": {"rate": "100000/s", "burst": 100_000}}},
        }},
        "always": ["account"],
    })
}

fn with(policy: &Value) -> Builder {
    Envoy::builder().concurrency(2).policy(policy).ecds()
}

/// An answer on a connection of its own, so that any worker may give it.
async fn ask(envoy: &Envoy, account: &str) -> Answer {
    let call = Client::h1().get(envoy.at("/")).header("x-account", account);
    call.send().await.unwrap()
}

/// Asks until a refusal comes; how many requests were admitted before it.
async fn drain(envoy: &Envoy, account: &str, most: u64) -> u64 {
    for admitted in 0..=most {
        match ask(envoy, account).await.status.as_u16() {
            200 => {}
            429 => return admitted,
            other => panic!("status {other}"),
        }
    }
    panic!("more than {most} were admitted")
}

/// Ships a policy and waits until both workers show its quota to an account that was not there before.
async fn ship(envoy: &Envoy, policy: &Value, quota: &str) {
    assert_eq!(envoy.update_policy(policy).await.unwrap(), Reload::Accepted);
    let version = policy["version"].as_str().unwrap();
    let mut row = 0;
    let mut turn = 0;
    // Connections fall on either worker: this many in a row that all see the new one leave no room for an old one.
    eventually(SOON, async || {
        turn += 1;
        let answer = ask(envoy, &format!("{version}-{turn}")).await;
        let shown = answer.header("ratelimit-policy").unwrap_or_default();
        row = if shown.ends_with(quota) { row + 1 } else { 0 };
        ensure!(row >= 20, "{shown}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn no_change_fails_a_request_or_fills_a_bucket() {
    let first = policy("1", "1/h", 5);
    let envoy = with(&first).lds().start().await.unwrap();
    assert_eq!(drain(&envoy, "drained", 5).await, 5);
    let mut steady = Steady::start(&envoy.at("/"));
    let both = [
        repo().join("dist/tidegate.wasm"),
        repo().join("dist/tidegate-test.wasm"),
    ];
    let [shipped, other] = both;

    steady.goes_on("at the start").await;
    let second = policy("2", "1/h", 5);
    assert_eq!(
        envoy.update_policy(&second).await.unwrap(),
        Reload::Accepted
    );
    steady.goes_on("after another version of the policy").await;

    let listener = envoy.update_listeners(|listeners| {
        let mut other = listeners.first().unwrap().clone();
        other["name"] = json!("other");
        listeners.push(other);
    });
    assert_eq!(listener.await.unwrap(), Reload::Accepted);
    steady.goes_on("after another listener").await;
    // A change of the listener itself is where `local_ratelimit` forgets all it knew.
    let listener = envoy.update_listeners(|listeners| {
        listeners.first_mut().unwrap()["per_connection_buffer_limit_bytes"] = json!(65_536);
    });
    assert_eq!(listener.await.unwrap(), Reload::Accepted);
    steady.goes_on("after a change of the listener").await;

    let created = "wasm.envoy.wasm.runtime.v8.created";
    for module in [&shipped, &other, &shipped] {
        let before = envoy.stat(created).await.unwrap();
        assert_eq!(envoy.update_module(module).await.unwrap(), Reload::Accepted);
        steady.goes_on(&format!("after {}", module.display())).await;
        // The same bytes under another name are the same code to Envoy; others get VMs of their own.
        if *module == other {
            assert!(envoy.stat(created).await.unwrap() > before);
        }
    }
    steady.stop().await;
    assert_eq!(ask(&envoy, "drained").await.status, 429);
}

#[tokio::test]
async fn operators_are_told_of_refusals_that_a_change_came_right_after() {
    const CHANGES: usize = 6;
    let envoy = with(&policy("0", "1/h", 1)).start().await.unwrap();
    // Workers tell what they have seen once a second; here most have not when their mount goes.
    for change in 1..=CHANGES {
        let account = format!("refused-{change}");
        assert_eq!(drain(&envoy, &account, 1).await, 1);
        let next = policy(&change.to_string(), "1/h", 1);
        assert_eq!(envoy.update_policy(&next).await.unwrap(), Reload::Accepted);
    }
    eventually(SOON, async || {
        let log = envoy.log();
        let told = log.matches("\"log\":\"tidegate.refused\"").count();
        ensure!(told == CHANGES, "{told} of {CHANGES}: {log}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_bad_policy_is_refused_and_the_old_one_goes_on() {
    let envoy = with(&policy("1", "1/h", 2)).start().await.unwrap();
    assert_eq!(drain(&envoy, "drained", 2).await, 2);
    let mut bad = policy("2", "1/h", 1_000);
    bad["limits"]["account"]["rate"] = json!("1/hour");
    assert_eq!(envoy.update_policy(&bad).await.unwrap(), Reload::Rejected);
    eventually(SOON, async || {
        let log = envoy.log();
        ensure!(
            log.contains("`$.limits.account.rate`: `1/hour` is not a rate"),
            "{log}"
        );
        Ok(())
    })
    .await
    .unwrap();
    // For an account that is new and for one that is not.
    assert_eq!(drain(&envoy, "new", 2).await, 2);
    for _ in 0..10 {
        assert_eq!(ask(&envoy, "drained").await.status, 429);
    }
    ship(&envoy, &policy("3", "1/h", 3), "q=3;w=10800").await;
    assert_eq!(drain(&envoy, "newer", 3).await, 3);
}

#[tokio::test]
async fn another_rate_holds_at_once_for_buckets_that_are_drained() {
    let envoy = with(&policy("1", "1/h", 1)).start().await.unwrap();
    assert_eq!(drain(&envoy, "a", 1).await, 1);
    let wait = ask(&envoy, "a").await.retry_after().unwrap();
    assert!((3_590..=3_600).contains(&wait), "{wait}");

    // Raised: no longer than an empty bucket takes now, and not one second sooner.
    ship(&envoy, &policy("2", "20/min", 1), "q=1;w=3").await;
    let refusal = ask(&envoy, "a").await;
    let asked = Instant::now();
    assert_eq!(refusal.retry_after(), Some(3), "{refusal:?}");
    eventually(SOON, async || {
        let answer = ask(&envoy, "a").await;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    })
    .await
    .unwrap();
    let waited = asked.elapsed();
    assert!(waited > Duration::from_millis(2_900), "{waited:?}");
    assert!(waited < Duration::from_millis(4_500), "{waited:?}");

    // Lowered: what is owed is a time, so it stays as it was; what is taken from now on has the new price.
    assert_eq!(ask(&envoy, "b").await.status, 200);
    ship(&envoy, &policy("3", "1/h", 1), "q=1;w=3600").await;
    let answer = eventually(SOON, async || {
        let answer = ask(&envoy, "b").await;
        let wait = answer.retry_after().unwrap_or(0);
        assert!(wait <= 3, "{wait}");
        ensure!(answer.status == 200, "{answer:?}");
        Ok(answer)
    })
    .await
    .unwrap();
    assert_eq!(answer.header("ratelimit"), Some("\"account\";r=0;t=3600"));
    let wait = ask(&envoy, "b").await.retry_after().unwrap();
    assert!((3_590..=3_600).contains(&wait), "{wait}");
}

#[tokio::test]
async fn another_burst_holds_at_once_for_buckets_that_are_drained() {
    let envoy = with(&policy("1", "1/h", 4)).start().await.unwrap();
    assert_eq!(drain(&envoy, "a", 4).await, 4);
    // Lowered: nothing is handed out, and the wait is not longer than it was.
    ship(&envoy, &policy("2", "1/h", 2), "q=2;w=7200").await;
    let refusal = ask(&envoy, "a").await;
    let wait = refusal.retry_after().unwrap();
    assert!((3_590..=3_600).contains(&wait), "{wait}");
    // Raised from there: by the difference, neither more nor less.
    ship(&envoy, &policy("3", "1/h", 5), "q=5;w=18000").await;
    assert_eq!(drain(&envoy, "a", 3).await, 3);
}

#[tokio::test]
async fn another_size_of_the_table_starts_it_anew() {
    let envoy = with(&policy("1", "1/h", 2)).start().await.unwrap();
    assert_eq!(drain(&envoy, "a", 2).await, 2);
    let mut smaller = policy("2", "1/h", 3);
    smaller["limits"]["account"]["max_keys"] = json!(1_024);
    ship(&envoy, &smaller, "q=3;w=10800").await;
    assert_eq!(drain(&envoy, "a", 3).await, 3);
    // The old table is still there for whoever goes back.
    ship(&envoy, &policy("3", "1/h", 2), "q=2;w=7200").await;
    assert_eq!(drain(&envoy, "a", 0).await, 0);
}
