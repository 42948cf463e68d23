//! Metrics: exact, and as many as the policy has names for.

use std::collections::BTreeSet;

use anyhow::ensure;
use serde_json::json;
use tidegate_e2e::{Client, Envoy, Origin, eventually, flood};

use crate::{SOON, policy};

/// How many accounts come.
const ACCOUNTS: usize = 20_000;

/// The series of our metrics, without their values.
async fn series(envoy: &Envoy) -> BTreeSet<String> {
    let text = envoy.prometheus().await.unwrap();
    let ours = text
        .lines()
        .filter(|line| line.contains("tidegate_") && !line.starts_with('#'));
    ours.filter_map(|line| line.rsplit_once(' '))
        .map(|(series, _)| series.to_owned())
        .collect()
}

#[tokio::test]
async fn counters_are_what_callers_were_told_however_many_come() {
    let origin = Origin::start().await.unwrap();
    let mut policy = policy(2);
    policy["limits"]["all"] = json!({"per": ["route"], "rate": "1000000/s", "burst": 1_000_000});
    policy["always"] = json!(["daily", "all"]);
    let envoy = Envoy::builder()
        .concurrency(2)
        .policy(&policy)
        .without_access_log();
    let envoy = envoy.origin(&origin).start().await.unwrap();
    let get = |count: usize, accounts: usize| {
        let url = envoy.at("/");
        flood(8, count, move |client: &Client, n| {
            client
                .get(&url)
                .header("x-api-key", format!("a{}", n % accounts))
        })
    };
    let mut answers = get(600, 100).await.unwrap();
    let few = eventually(SOON, async || {
        let series = series(&envoy).await;
        // What comes with the clock has come.
        for late in [
            "tidegate_table_occupancy",
            "tidegate_workers",
            "tidegate_decide_us",
        ] {
            ensure!(series.iter().any(|one| one.starts_with(late)), "no {late}");
        }
        Ok(series)
    });
    let few = few.await.unwrap();
    answers.extend(get(ACCOUNTS, ACCOUNTS).await.unwrap());
    let count = |status: u16| {
        let same = answers
            .iter()
            .filter(|answer| answer.status.as_u16() == status);
        u32::try_from(same.count()).unwrap()
    };
    let counted = async |rule, outcome| {
        let labels = [("policy", "seen"), ("rule", rule), ("outcome", outcome)];
        let sample = envoy.sample("tidegate_decisions", &labels).await.unwrap();
        sample.unwrap_or(0.0)
    };
    assert_eq!(count(200) + count(429), 600 + ACCOUNTS as u32);
    assert_eq!(counted("none", "allowed").await, f64::from(count(200)));
    assert_eq!(counted("daily", "refused").await, f64::from(count(429)));
    assert_eq!(counted("all", "refused").await, 0.0);
    // Nobody who came has a series.
    assert_eq!(series(&envoy).await, few);
}

#[tokio::test]
async fn how_full_tables_and_stores_are_and_how_long_decisions_take() {
    let origin = Origin::start().await.unwrap();
    let mut policy = policy(2);
    policy["limits"]["daily"]["max_keys"] = json!(64);
    policy["capacity"] = json!({"records": 32, "bytes": "1MiB"});
    policy["routes"] = json!([{
        "name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "idempotency": {"key": "required"},
    }]);
    let envoy = Envoy::builder().concurrency(2).policy(&policy);
    let envoy = envoy.origin(&origin).start().await.unwrap();
    let client = Client::h1();
    for number in 0..8 {
        let call = client
            .post(envoy.at("/charges"))
            .header("x-api-key", format!("a{number}"));
        let answer = call
            .header("idempotency-key", "\"k\"")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status, 200);
    }
    let value =
        async |name: &str, labels: &[(&str, &str)]| envoy.sample(name, labels).await.unwrap();
    let seen = [("policy", "seen")];
    eventually(SOON, async || {
        // 8 of 64 are 12.5 of a hundred.
        let full = value("tidegate_table_occupancy", &[("rule", "daily")]).await;
        ensure!(full == Some(13.0), "{full:?}");
        let records = value("tidegate_store_records", &seen).await;
        ensure!(records == Some(8.0), "{records:?}");
        let bytes = value("tidegate_store_bytes", &seen).await;
        ensure!(bytes.is_some_and(|bytes| bytes > 500.0), "{bytes:?}");
        let timed = value("tidegate_decide_us_count", &seen).await;
        ensure!(timed.is_some_and(|timed| timed >= 1.0), "{timed:?}");
        Ok(())
    })
    .await
    .unwrap();
}
