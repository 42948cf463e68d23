//! What every store has to do, on the one that the workers of an Envoy share.

use serde_json::json;
use tidegate_e2e::Client;

use crate::stand::{Stand, policy, with_switches};

#[tokio::test]
async fn the_shared_store_does_what_every_store_has_to_do() {
    let rules = policy(&json!({"key": "required"}));
    let stand = Stand::start(&rules, |b| with_switches(b).concurrency(2)).await;
    // By several connections, so that more than one worker comes to it, at once.
    let ask = async || {
        let call = Client::h1().get(stand.envoy.at("/"));
        let answer = call.header("x-test-store-suite", "1").send().await.unwrap();
        assert_eq!(
            (answer.status.as_u16(), answer.text().as_str()),
            (200, "every check holds")
        );
    };
    tokio::join!(ask(), ask(), ask(), ask());
}
