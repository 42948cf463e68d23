//! What a canary leaves in the gate, and what halts one beside refusals, errors and slowness.

use serde_json::{Value, json};
use tidegate_e2e::{Client, Reply};

use crate::stand::{SOON, Stand, is_done, policy, told};

const CANARY: [&str; 7] = [
    "ship",
    "second.wasm",
    "--canary",
    "100",
    "--hold",
    "1s",
    "--min-decisions",
];

/// For half of the callers, and its caches are told whose copies they keep once it holds for everybody.
fn for_half(version: &str) -> Value {
    let mut policy = policy(version);
    policy["canary"] = json!({"percent": 50});
    policy["routes"] = json!([{
        "name": "orders", "match": {"path": "/orders"}, "cache": {"scope": ["account"], "by": "path"},
    }]);
    policy
}

/// A policy that says itself for whom it holds ends in plain enforcement, and not as a canary of everybody.
#[tokio::test]
async fn a_policy_with_a_canary_of_its_own_is_enforced_for_everybody_in_the_end() {
    let stand = Stand::start(&policy("1")).await;
    stand.pack(&for_half("2"), "second.wasm").await;
    let done = stand.tool(&[&CANARY[..], &["0"]].concat()).await;
    is_done(&done);
    assert_eq!(told(&done)["outcome"], "promoted");
    let told = "/resources/0/typed_config/config/configuration/value";
    let gate = stand.shipped("gate.json");
    assert_eq!(gate.pointer(told), Some(&json!("{\"mode\":\"enforce\"}")));
    for n in 0..10 {
        assert_eq!(stand.drain(&format!("account-{n}")).await, 5);
    }
    let decided = async |rule, outcome| stand.envoy.decisions(rule, outcome).await.unwrap();
    tidegate_e2e::eventually(SOON, async || {
        let counted = (
            decided("none", "allowed").await,
            decided("account", "refused").await,
        );
        anyhow::ensure!(counted == (50, 10), "{counted:?}");
        Ok(())
    })
    .await
    .unwrap();
    for (rule, outcome) in [("none", "canary-allowed"), ("account", "canary-refused")] {
        let labels = [("rule", rule), ("outcome", outcome)];
        let counted = stand.envoy.sample("tidegate_decisions", &labels).await;
        assert!(matches!(counted.unwrap(), None | Some(0.0)), "{outcome}");
    }
}

/// The application names another owner than the caller: the gate withholds the response, and one is one too many.
#[tokio::test]
async fn a_response_that_is_not_its_callers_halts_it() {
    let mut first = policy("1");
    first["routes"] = json!([{
        "name": "orders", "match": {"path": "/orders"},
        "cache": {"scope": ["account"], "by": "path", "owner_header": "x-owner"},
    }]);
    let stand = Stand::start(&first).await;
    first["version"] = json!("2");
    stand.pack(&first, "second.wasm").await;
    stand.origin.answer(
        "/orders",
        Reply::status(http::StatusCode::OK).header("x-owner", "somebody-else"),
    );
    let url = stand.envoy.shipped_at("/orders");
    let asking = tokio::spawn(async move {
        let client = Client::h1();
        for _ in 0..100_000 {
            let call = client.get(&url).header("x-account", "steady");
            assert_eq!(call.send().await.unwrap().status, 502);
        }
    });
    let canary = ["ship", "second.wasm", "--canary", "5,100", "--hold", "1m"];
    let bound = ["--halt-on", "seal-mismatches=3"];
    let halted = stand.tool(&[&canary[..], &bound].concat()).await;
    asking.abort();
    assert_eq!(halted.status.code(), Some(1), "{halted:?}");
    assert_eq!(told(&halted)["bound"]["bound"], "seal-mismatches");
    assert_eq!(told(&halted)["bound"]["allowed"], "fewer than 3");
    assert_eq!(told(&halted)["candidate"], "put-back");
    assert!(!stand.shipped("candidate.json").to_string().contains("wasm"));
}
