//! What changes while a charge runs: a VM dies, a policy or a module comes.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Reload};
use tidegate_e2e::{Answer, Client, Reply, eventually, repo};
use tokio::task::JoinHandle;

use crate::stand::{CHARGES, SOON, Stand, ahead, charge, charge_by, policy, with_switches};
use crate::{is_problem, is_replay, is_replay_of, is_running};

/// Enough connections that both workers have some.
const CONNECTIONS: usize = 12;

fn two(builder: Builder) -> Builder {
    with_switches(builder).concurrency(2)
}

/// A charge that the origin has, and holds for so long.
async fn begin(stand: &Stand, millis: u64) -> JoinHandle<anyhow::Result<Answer>> {
    let reply = Reply::status(http::StatusCode::CREATED).body("made");
    let slow = reply.clone().after(Duration::from_millis(millis));
    stand.origin.answer(CHARGES, slow);
    let first = tokio::spawn(charge(&stand.envoy, "k").send());
    eventually(SOON, async || {
        ensure!(stand.origin.count(CHARGES) == 1);
        Ok(())
    })
    .await
    .unwrap();
    stand.origin.answer(CHARGES, reply);
    first
}

/// Takes the VMs of both workers down, and waits until both serve again.
async fn trap(stand: &Stand) {
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::h1()).collect();
    for client in &clients {
        let call = client.get(stand.envoy.at("/trap"));
        let answer = call.header("x-test-trap", "1").send().await.unwrap();
        assert_eq!(answer.status, 503);
    }
    eventually(SOON, async || {
        for client in &clients {
            let answer = client.get(stand.envoy.at("/well")).send().await?;
            ensure!(answer.status == 200, "{answer:?}");
        }
        Ok(())
    })
    .await
    .unwrap();
}

/// On every worker, others can still be charged.
async fn goes_on(stand: &Stand) {
    for n in 0..CONNECTIONS {
        let key = format!("other-{n}");
        let first = charge(&stand.envoy, &key).send().await.unwrap();
        assert_eq!(first.status, 201, "{first:?}");
        is_replay_of(&charge(&stand.envoy, &key).send().await.unwrap(), &first);
    }
}

#[tokio::test]
async fn a17_a_vm_that_dies_leaves_an_unknown_outcome_when_the_lease_ends() {
    for (unknown, runs) in [("hold", 1), ("retry", 2)] {
        let rule = policy(&json!({"key": "required", "unknown": unknown, "lease": "60s"}));
        let stand = Stand::start(&rule, two).await;
        let before = charge(&stand.envoy, "before").send().await.unwrap();
        stand.origin.forget();
        let first = begin(&stand, 3_000).await;
        trap(&stand).await;
        // Its stream went with the VM.
        if let Ok(first) = first.await.unwrap() {
            assert_eq!(first.status, 503, "{first:?}");
        }
        is_running(&charge(&stand.envoy, "k").send().await.unwrap());
        is_replay_of(
            &charge(&stand.envoy, "before").send().await.unwrap(),
            &before,
        );
        ahead(&stand.envoy, 61_000).await;
        let again = charge(&stand.envoy, "k").send().await.unwrap();
        if unknown == "hold" {
            is_problem(&again, 409, "outcome-unknown");
        } else {
            assert_eq!(again.text(), "made", "{again:?}");
            assert!(!is_replay(&again));
            is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &again);
        }
        assert_eq!(stand.origin.count(CHARGES), runs);
        goes_on(&stand).await;
    }
}

/// The charge that ran is stored, and everybody is told.
async fn is_stored(stand: &Stand, first: JoinHandle<anyhow::Result<Answer>>) {
    // Each on a connection of its own, so through either worker.
    for _ in 0..CONNECTIONS {
        is_running(&charge(&stand.envoy, "k").send().await.unwrap());
    }
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.text(), "made");
    for _ in 0..CONNECTIONS {
        is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &first);
    }
    assert_eq!(stand.origin.count(CHARGES), 1);
    goes_on(stand).await;
}

fn second_version(rule: &Value) -> Value {
    let mut policy = policy(rule);
    policy["version"] = json!("2");
    policy
}

#[tokio::test]
async fn a15_a_charge_outlives_a_change_of_the_policy() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| two(b).ecds()).await;
    let first = begin(&stand, 2_000).await;
    let next = second_version(&json!({"key": "required", "ttl": "48h", "lease": "5s"}));
    let shipped = stand.envoy.update_policy(&next).await.unwrap();
    assert_eq!(shipped, Reload::Accepted);
    is_stored(&stand, first).await;
}

#[tokio::test]
async fn a15_a_charge_outlives_a_change_of_the_module() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| two(b).ecds()).await;
    let first = begin(&stand, 8_500).await;
    let module = repo().join("dist/tidegate.wasm");
    let shipped = stand.envoy.update_module(&module).await.unwrap();
    assert_eq!(shipped, Reload::Accepted);
    is_stored(&stand, first).await;
    // And back.
    let module = repo().join("dist/tidegate-test.wasm");
    let shipped = stand.envoy.update_module(&module).await.unwrap();
    assert_eq!(shipped, Reload::Accepted);
    let again = charge_by(&Client::h2(), &stand.envoy, "k")
        .send()
        .await
        .unwrap();
    assert!(is_replay(&again), "{again:?}");
}

#[tokio::test]
async fn a15_a_charge_whose_rule_is_gone_frees_or_settles_its_record() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| two(b).ecds()).await;
    let first = begin(&stand, 1_500).await;
    let mut none = second_version(&json!({"key": "required"}));
    none["routes"] = json!([]);
    let shipped = stand.envoy.update_policy(&none).await.unwrap();
    assert_eq!(shipped, Reload::Accepted);
    assert_eq!(first.await.unwrap().unwrap().text(), "made");
    let mut back = policy(&json!({"key": "required"}));
    back["version"] = json!("3");
    assert_eq!(
        stand.envoy.update_policy(&back).await.unwrap(),
        Reload::Accepted
    );
    let again = eventually(SOON, async || {
        let answer = charge(&stand.envoy, "k").send().await?;
        ensure!(is_replay(&answer), "{answer:?}");
        Ok(answer)
    });
    assert_eq!(again.await.unwrap().text(), "made");
}

#[tokio::test]
async fn another_number_of_records_starts_them_anew_as_documented() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| two(b).ecds()).await;
    let first = charge(&stand.envoy, "k").send().await.unwrap();
    let mut larger = second_version(&json!({"key": "required"}));
    larger["capacity"] = json!({"records": 8_192});
    let shipped = stand.envoy.update_policy(&larger).await.unwrap();
    assert_eq!(shipped, Reload::Accepted);
    let anew = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!((first.status, anew.status), (anew.status, first.status));
    assert!(!is_replay(&anew), "{anew:?}");
    for _ in 0..CONNECTIONS {
        is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &anew);
    }
    assert_eq!(stand.origin.count(CHARGES), 2);
}
