//! Another version, and back: nobody's request fails for it, and nobody's bucket or record is lost.

use tidegate_e2e::Answer;

use crate::stand::{Stand, errors, is_done, is_replay, policy, told};
use crate::steady::Steady;

/// The account is still drained, the charge is still made.
async fn is_kept(stand: &Stand, first: &Answer, when: &str) {
    for _ in 0..6 {
        assert_eq!(stand.ask("drained").await.status, 429, "{when}");
        let again = stand.charge("payer", "k").await;
        assert!(is_replay(&again), "{when}: {again:?}");
        assert_eq!(again.body, first.body, "{when}");
    }
    assert_eq!(stand.origin.count("/charges"), 1, "{when}");
}

#[tokio::test]
async fn a_version_is_swapped_and_rolled_back_without_a_failed_request() {
    let stand = Stand::start(&policy("1")).await;
    stand.pack(&policy("2"), "second.wasm").await;
    assert_eq!(stand.drain("drained").await, 5);
    let first = stand.charge("payer", "k").await;
    assert!(!is_replay(&first), "{first:?}");
    let mut steady = Steady::start(&stand.envoy.shipped_at("/"));
    steady.goes_on("at the start").await;

    let done = stand.tool(&["ship", "second.wasm"]).await;
    is_done(&done);
    let done = told(&done);
    assert_eq!(done["version"], "2");
    assert_eq!(done["outcome"], "running");
    // One for each of the two workers, and one of Envoy's main thread.
    assert_eq!(done["vms"], 3);
    steady.goes_on("with version 2").await;
    is_kept(&stand, &first, "with version 2").await;

    let back = stand.tool(&["rollback"]).await;
    is_done(&back);
    assert_eq!(told(&back)["version"], "1");
    assert_eq!(told(&back)["vms"], 3);
    steady.goes_on("back at version 1").await;
    is_kept(&stand, &first, "back at version 1").await;
    steady.stop().await;

    // There is nothing before the first.
    let none = stand.tool(&["rollback"]).await;
    assert_eq!(none.status.code(), Some(4));
    assert!(errors(&none).contains("nothing is known"), "{none:?}");
}

#[tokio::test]
async fn each_rollback_goes_one_further() {
    let stand = Stand::start(&policy("1")).await;
    for version in ["2", "3"] {
        let file = format!("{version}.wasm");
        stand.pack(&policy(version), &file).await;
        is_done(&stand.tool(&["ship", &file]).await);
    }
    for version in ["2", "1"] {
        let back = stand.tool(&["rollback"]).await;
        is_done(&back);
        assert_eq!(told(&back)["version"], version);
    }
    // And from there forward again.
    is_done(&stand.tool(&["ship", "3.wasm"]).await);
    let back = stand.tool(&["rollback"]).await;
    assert_eq!(told(&back)["version"], "1");
}

#[tokio::test]
async fn another_policy_is_not_shipped_by_accident() {
    let stand = Stand::start(&policy("1")).await;
    let mut other = policy("1");
    other["policy"] = "other".into();
    stand.pack(&other, "other.wasm").await;
    let before = stand.shipped("gate.json");
    let refused = stand.tool(&["ship", "other.wasm"]).await;
    assert_eq!(refused.status.code(), Some(4));
    assert!(
        errors(&refused).contains("mounts policy `shop`"),
        "{refused:?}"
    );
    assert_eq!(stand.shipped("gate.json"), before);
    is_done(&stand.tool(&["ship", "other.wasm", "--new-policy"]).await);
    // What the operator chose stays: the name of the VM.
    let vm = "/resources/0/typed_config/config/vm_config/vm_id";
    assert_eq!(stand.shipped("gate.json").pointer(vm), before.pointer(vm));
}
