//! How many VMs run which version: one for each worker, and one of Envoy's main thread.

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::envoy::Reload;
use tidegate_e2e::{Envoy, eventually};

use crate::{SOON, policy};

/// How many run a version that is enforced for so many of a hundred callers.
async fn workers(envoy: &Envoy, version: &str, enforced: &str) -> anyhow::Result<f64> {
    let labels = [("version", version), ("enforced", enforced)];
    let sample = envoy.sample("tidegate_workers", &labels).await?;
    Ok(sample.unwrap_or(-1.0))
}

async fn run(envoy: &Envoy, expected: &[(&str, &str, f64)]) {
    eventually(SOON, async || {
        for (version, enforced, count) in expected {
            let found = workers(envoy, version, enforced).await?;
            ensure!(found == *count, "{version} {enforced}: {found}");
        }
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn each_version_is_counted_while_it_runs() {
    let with = |version: &str, more: Value| policy(version, 9, &more);
    let first = with("1", json!({}));
    let envoy = Envoy::builder().concurrency(3).policy(&first).ecds();
    let envoy = envoy.start().await.unwrap();
    run(&envoy, &[("1", "100", 4.0)]).await;
    let second = with("2", json!({"canary": {"percent": 5}}));
    assert_eq!(
        envoy.update_policy(&second).await.unwrap(),
        Reload::Accepted
    );
    run(&envoy, &[("1", "100", 0.0), ("2", "5", 4.0)]).await;
    let shadow = with("2", json!({"mode": "shadow"}));
    assert_eq!(
        envoy.update_policy(&shadow).await.unwrap(),
        Reload::Accepted
    );
    run(&envoy, &[("2", "5", 0.0), ("2", "0", 4.0)]).await;
    assert_eq!(envoy.update_policy(&first).await.unwrap(), Reload::Accepted);
    run(&envoy, &[("1", "100", 4.0), ("2", "0", 0.0)]).await;
}

#[tokio::test]
async fn nothing_is_defined_anew_each_second() {
    let envoy = Envoy::builder().policy(&policy("1", 9, &json!({})));
    let envoy = envoy.start().await.unwrap();
    run(&envoy, &[("1", "100", 2.0)]).await;
    // Envoy keeps each definition of a metric for ever, also of one that it has.
    let defined = || envoy.log().matches("proxy_define_metric(").count();
    let recorded = || envoy.log().matches("proxy_record_metric(").count();
    envoy.trace_modules().await.unwrap();
    // Whatever begins in these two looks is done.
    eventually(SOON, async || {
        ensure!(recorded() >= 4, "{}", recorded());
        Ok(())
    })
    .await
    .unwrap();
    let before = (defined(), recorded());
    eventually(SOON, async || {
        ensure!(recorded() >= before.1 + 6, "{}", recorded());
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(defined(), before.0);
}
