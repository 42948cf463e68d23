//! A rule in shadow counts and changes nothing.

use anyhow::ensure;
use http::Method;
use serde_json::json;
use tidegate_e2e::{Client, eventually};

use crate::stand::{BODY, CHARGES, SOON, Stand, charge, nameless, policy};
use crate::{KEY, is_replay};

#[tokio::test]
async fn in_shadow_everything_runs_and_is_counted() {
    for whole in [true, false] {
        let mut policy = policy(&json!({"key": "required", "max_body": "1KiB"}));
        let policy_or_route = if whole {
            &mut policy
        } else {
            &mut policy["routes"][0]
        };
        policy_or_route["mode"] = json!("shadow");
        let stand = Stand::start(&policy, |b| b).await;
        let client = Client::h1();
        let with = |account: &str, key: &str, body: &str| {
            let call = nameless(&client, Method::POST, &stand.envoy, CHARGES);
            let call = call.header("x-account", account);
            call.header(KEY, key).body(body.to_owned())
        };
        let large = "x".repeat(5_000);
        let calls = [
            charge(&stand.envoy, "k"),
            charge(&stand.envoy, "k"),
            charge(&stand.envoy, "k").body("other"),
            with("amy", "\"malformed", BODY),
            with("", "\"k\"", BODY),
            with("amy", "\"large\"", &large),
            nameless(&client, Method::POST, &stand.envoy, CHARGES).body(BODY),
        ];
        for (n, call) in calls.into_iter().enumerate() {
            let answer = call.send().await.unwrap();
            assert_eq!(answer.status, 200, "{n}: {answer:?}");
            assert!(!is_replay(&answer), "{n}");
        }
        assert_eq!(stand.origin.total(), 7);
        // By its headers alone the third is told as the first, sent again.
        let rules = [
            ("none", "shadow-replayed", 2),
            ("none", "allowed", 7),
            ("idempotency-key-invalid", "shadow-refused", 1),
            ("identity-required", "shadow-refused", 1),
            ("idempotency-key-missing", "shadow-refused", 1),
        ];
        for (rule, outcome, count) in rules {
            eventually(SOON, async || {
                let counted = stand.envoy.decisions(rule, outcome).await?;
                ensure!(counted == count, "{rule} {outcome}: {counted}");
                Ok(())
            })
            .await
            .unwrap();
        }
    }
}
