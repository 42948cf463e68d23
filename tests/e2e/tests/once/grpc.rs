//! Callers that speak gRPC.

use http::HeaderValue;
use serde_json::json;
use tidegate_e2e::{Answer, Client};

use crate::stand::Stand;
use crate::{KEY, REPLAYED};

const METHOD: &str = "/v1/Make";

/// An empty message, uncompressed.
const MESSAGE: &[u8] = &[0; 5];

async fn make(stand: &Stand, key: &str, message: &'static [u8]) -> Answer {
    let call = Client::h2().post(stand.envoy.at(METHOD));
    let call = call
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let call = call.header("x-account", "amy").header(KEY, key);
    call.body(message).send().await.unwrap()
}

/// The status of a call, which without a message stands among the headers.
fn grpc_status(answer: &Answer) -> Option<&str> {
    let name = "grpc-status";
    let line: Option<&HeaderValue> = answer.trailers.get(name).or(answer.headers.get(name));
    line.and_then(|line| line.to_str().ok())
}

#[tokio::test]
async fn a_stream_is_refused_where_a_key_is_required() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let refused = make(&stand, "\"k\"", MESSAGE).await;
    assert_eq!(refused.status, 200);
    assert_eq!(grpc_status(&refused), Some("3"), "{refused:?}");
    assert_eq!(stand.origin.total(), 0);
}

#[tokio::test]
async fn a_stream_goes_on_unrecorded_where_a_key_is_optional() {
    let stand = Stand::of(json!({"key": "optional"})).await;
    for _ in 0..2 {
        let answer = make(&stand, "\"k\"", MESSAGE).await;
        assert_eq!(grpc_status(&answer), Some("0"), "{answer:?}");
        assert_eq!(
            (answer.body.as_ref(), answer.header(REPLAYED)),
            (MESSAGE, None)
        );
    }
    assert_eq!(stand.origin.total(), 2);
}
