//! What requests cost that are made again.

use serde_json::json;

use crate::parts::{Parts, send};
use crate::stand::{CHARGES, Stand, charge, policy};
use crate::{is_problem, is_replay_of};

#[tokio::test]
async fn a_replay_is_not_charged() {
    let mut policy = policy(&json!({"key": "required"}));
    policy["limits"] = json!({"account": {"per": ["account"], "rate": "1/h", "burst": 2}});
    policy["always"] = json!(["account"]);
    let stand = Stand::start(&policy, |b| b.concurrency(2)).await;
    let first = charge(&stand.envoy, "1").send().await.unwrap();
    assert_eq!(first.status, 200, "{first:?}");
    for _ in 0..10 {
        is_replay_of(&charge(&stand.envoy, "1").send().await.unwrap(), &first);
        // Nor is what another request with the key gets.
        let other = charge(&stand.envoy, "1")
            .body("other")
            .send()
            .await
            .unwrap();
        is_problem(&other, 422, "idempotency-key-reused");
    }
    assert_eq!(charge(&stand.envoy, "2").send().await.unwrap().status, 200);
    for key in ["3", "4"] {
        let refused = charge(&stand.envoy, key).send().await.unwrap();
        assert_eq!(refused.status, 429, "{refused:?}");
    }
    // To who has nothing left too.
    is_replay_of(&charge(&stand.envoy, "1").send().await.unwrap(), &first);
    assert_eq!(stand.origin.total(), 2);
}

/// The rate limit fields of the first answer to a charge with this body, and of its replay.
async fn have_fields_of_their_own(body: &'static str) {
    let mut policy = policy(&json!({"key": "required"}));
    policy["limits"] = json!({"account": {"per": ["account"], "rate": "1/h", "burst": 5}});
    policy["always"] = json!(["account"]);
    let stand = Stand::start(&policy, |b| b).await;
    for (key, left) in [("1", 4), ("2", 3)] {
        let call = || charge(&stand.envoy, key).body(body);
        let first = call().send().await.unwrap();
        assert_eq!(first.status, 200);
        let quota = first.header("ratelimit-policy");
        assert_eq!(quota, Some("\"account\";q=5;w=18000"), "{first:?}");
        let expected = format!("\"account\";r={left};");
        let limit = first.header("ratelimit").unwrap();
        assert!(limit.starts_with(&expected), "{limit}");
        let again = call().send().await.unwrap();
        is_replay_of(&again, &first);
        // What was true then is not said again.
        let limit = again.header("ratelimit").unwrap_or(&expected);
        assert!(limit.starts_with(&expected), "{limit}");
    }
}

#[tokio::test]
async fn a31_the_rate_limit_fields_are_those_of_the_exchange() {
    have_fields_of_their_own("").await;
}

#[tokio::test]
async fn a31_the_rate_limit_fields_are_there_for_a_charge_with_a_body() {
    have_fields_of_their_own("a body").await;
}

#[tokio::test]
async fn a21_a_body_that_is_too_large_is_not_charged() {
    let mut policy = policy(&json!({"key": "required", "max_body": "1KiB"}));
    policy["limits"] = json!({"account": {"per": ["account"], "rate": "1/h", "burst": 1}});
    policy["always"] = json!(["account"]);
    let stand = Stand::start(&policy, |b| b).await;
    let stated = charge(&stand.envoy, "1").body("x".repeat(2_000)).send();
    is_problem(&stated.await.unwrap(), 413, "body-too-large");
    let parts = Parts::new(vec![vec![b'x'; 900]; 3], None);
    let unstated = send(&stand.envoy, CHARGES, "2", true, parts).await;
    is_problem(&unstated, 413, "body-too-large");
    let made = charge(&stand.envoy, "3").send().await.unwrap();
    assert_eq!(made.status, 200, "{made:?}");
}
