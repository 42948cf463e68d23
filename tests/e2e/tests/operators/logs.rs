//! Lines of the log.

use anyhow::ensure;
use serde_json::Value;
use tidegate_e2e::{Client, Envoy, Origin, eventually, flood};

use crate::{SOON, logged, policy};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[tokio::test]
async fn one_line_tells_of_a_flood_and_where_to_look() {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder().concurrency(2).policy(&policy(1));
    let envoy = envoy.origin(&origin).start().await.unwrap();
    let url = envoy.at("/");
    let answers = flood(8, 400, move |client: &Client, _| {
        let call = client.get(&url).header("x-api-key", "sk_live_1234567890");
        call.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))
    });
    let refused = answers.await.unwrap();
    let refused = refused.iter().filter(|answer| answer.status == 429).count();
    assert_eq!(refused, 399);
    let lines = eventually(SOON, async || {
        let lines = logged(&envoy, "tidegate.refused");
        ensure!(!lines.is_empty(), "nothing is logged yet");
        Ok(lines)
    });
    let [line]: [Value; 1] = lines.await.unwrap().try_into().unwrap();
    assert_eq!(line["policy"], "seen");
    assert_eq!(line["rule"], "daily");
    assert_eq!(line["enforced"], true);
    assert_eq!(line["trace_id"], TRACE);
    assert_eq!(line["scope"], line["caller"]);
    assert_eq!(line["scope"].as_str().unwrap().len(), 32);
    assert!(!envoy.log().contains("sk_live"), "{}", envoy.log());
}
