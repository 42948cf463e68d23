//! As a canary: enforced for the same callers each time, and the others are touched by the policy in force alone.

use serde_json::{Value, json};
use tidegate_e2e::{Client, Envoy, Origin};

use crate::{disagrees, policy};

/// A policy that refuses everyone at the second request, for this share.
fn canary(percent: u64, more: &Value) -> Value {
    let mut policy = policy("2", 1, more);
    policy["canary"] = json!({"percent": percent});
    policy
}

async fn statuses(envoy: &Envoy, account: &str) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..3 {
        // On a connection of its own, so that any worker may answer.
        let call = Client::h1().get(envoy.at("/")).header("x-account", account);
        statuses.push(call.send().await.unwrap().status.as_u16());
    }
    statuses
}

const REFUSED: [u16; 3] = [200, 429, 429];
const ADMITTED: [u16; 3] = [200; 3];

#[tokio::test]
async fn the_share_is_refused_and_nobody_else_on_every_worker() {
    let origin = Origin::start().await.unwrap();
    let start = async |canary: &Value, beside: bool| {
        let builder = Envoy::builder().concurrency(2).origin(&origin);
        let builder = if beside {
            builder
                .policy(&policy("1", 9, &json!({})))
                .candidate(canary)
        } else {
            builder.policy(canary)
        };
        builder.start().await.unwrap()
    };
    let mut shares = Vec::new();
    for (percent, beside) in [(30, false), (30, true), (60, true)] {
        let envoy = start(&canary(percent, &json!({})), beside).await;
        let mut inside = Vec::new();
        for n in 0..60 {
            let statuses = statuses(&envoy, &format!("account-{n}")).await;
            if statuses == REFUSED {
                inside.push(n);
            } else {
                assert_eq!(statuses, ADMITTED, "account-{n}");
            }
        }
        let count = u64::try_from(inside.len()).unwrap();
        let outside = 60 - count;
        let decided = async |rule, outcome| envoy.decisions(rule, outcome).await.unwrap();
        assert_eq!(decided("account", "canary-refused").await, 2 * count);
        assert_eq!(decided("none", "canary-allowed").await, count);
        assert_eq!(decided("account", "refused").await, 0);
        assert_eq!(decided("account", "shadow-refused").await, 2 * outside);
        if beside {
            // For those outside it is compared with the policy in force.
            disagrees(&envoy, &[("account", "stricter", 2 * outside)]).await;
        }
        shares.push(inside);
    }
    let [alone, beside, larger] = shares.try_into().unwrap();
    assert!((6..30).contains(&alone.len()), "{alone:?}");
    assert_eq!(alone, beside);
    assert!(beside.iter().all(|n| larger.contains(n)) && larger.len() > beside.len());
}

#[tokio::test]
async fn the_policy_in_force_goes_on_protecting_everybody() {
    let origin = Origin::start().await.unwrap();
    let builder = Envoy::builder().concurrency(2).origin(&origin);
    let mut generous = canary(50, &json!({}));
    generous["limits"]["account"]["burst"] = json!(1_000);
    let envoy = builder
        .policy(&policy("1", 1, &json!({})))
        .candidate(&generous);
    let envoy = envoy.start().await.unwrap();
    for n in 0..20 {
        assert_eq!(statuses(&envoy, &format!("account-{n}")).await, REFUSED);
    }
}

#[tokio::test]
async fn a_key_that_was_used_before_the_canary_is_replayed_to_both_shares() {
    let rule = json!({"routes": [{"name": "charges", "match": {"methods": ["POST"]},
        "idempotency": {"key": "required"}}]});
    let origin = Origin::start().await.unwrap();
    let builder = Envoy::builder().concurrency(2).origin(&origin);
    let mut same = canary(50, &rule);
    same["limits"]["account"]["burst"] = json!(9);
    let envoy = builder.policy(&policy("1", 9, &rule)).candidate(&same);
    let envoy = envoy.start().await.unwrap();
    for n in 0..20 {
        for (attempt, replayed) in [(1, None), (2, Some("true")), (3, Some("true"))] {
            let call = Client::h1().call(http::Method::POST, envoy.at("/charges"));
            let call = call
                .header("x-account", format!("account-{n}"))
                .header("idempotency-key", "k");
            let answer = call.body("{}".to_owned()).send().await.unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
            let told = answer.header("idempotent-replayed");
            assert_eq!(told, replayed, "account-{n}, attempt {attempt}");
        }
    }
    assert_eq!(origin.total(), 20);
}
