//! A policy in shadow in the candidate's slot: it is compared with the one in force, and touches nobody.

use anyhow::ensure;
use serde_json::json;
use tidegate_e2e::eventually;

use crate::stand::{SOON, Stand, is_done, policy, told};

#[tokio::test]
async fn a_candidate_in_shadow_disagrees_and_changes_nothing() {
    let stand = Stand::start(&policy("1")).await;
    let mut stricter = policy("2");
    stricter["limits"]["account"]["burst"] = json!(2);
    stand.pack(&stricter, "second.wasm").await;
    let empty = stand.shipped("candidate.json");
    let done = stand
        .tool(&["ship", "second.wasm", "--slot", "candidate", "--shadow"])
        .await;
    is_done(&done);
    assert_eq!(told(&done)["vms"], 3);
    assert_eq!(told(&done)["enforced"], 0);
    // The gate's five, and not the candidate's two.
    assert_eq!(stand.drain("a").await, 5);
    eventually(SOON, async || {
        let labels = [("rule", "account"), ("direction", "stricter")];
        let metric = "tidegate_shadow_disagreements";
        let count = stand.envoy.sample(metric, &labels).await?;
        ensure!(count == Some(3.0), "{count:?}");
        Ok(())
    })
    .await
    .unwrap();
    let back = stand.tool(&["rollback", "--slot", "candidate"]).await;
    is_done(&back);
    assert_eq!(told(&back)["policy"], json!(null));
    let left = stand.shipped("candidate.json");
    assert_eq!(left["resources"], empty["resources"]);
    assert_eq!(stand.drain("b").await, 5);
}
