//! Callers that speak gRPC.

use anyhow::ensure;
use http::{HeaderValue, StatusCode};
use serde_json::json;
use tidegate_e2e::{Answer, Client, Reply, eventually};
use tokio::time::Instant;

use crate::parts::{Parts, send_as};
use crate::stand::{SOON, Stand};
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
#[ignore = "the stored answer of a call that succeeded comes as status 2, UNKNOWN, with its message for a text"]
async fn a11_a_call_that_is_made_again_gets_a_status() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let first = make(&stand, "\"k\"", MESSAGE).await;
    assert_eq!(first.status, 200);
    assert_eq!(grpc_status(&first), Some("0"), "{first:?}");
    assert_eq!(first.body, MESSAGE);
    for _ in 0..2 {
        let again = make(&stand, "\"k\"", MESSAGE).await;
        assert_eq!(again.status, 200);
        match grpc_status(&again) {
            Some("0") => {
                assert_eq!(again.body, MESSAGE, "{again:?}");
                assert_eq!(again.header(REPLAYED), Some("true"));
            }
            // ABORTED, as it is where an answer was not stored: the caller learns that it was made.
            status => assert_eq!(status, Some("10"), "{again:?}"),
        }
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a3_a10_a_call_that_is_refused_gets_a_status() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let refused = make(&stand, "\"", MESSAGE).await;
    assert_eq!(refused.status, 200);
    assert_eq!(grpc_status(&refused), Some("3"), "{refused:?}");
    make(&stand, "\"k\"", MESSAGE).await;
    let refused = make(&stand, "\"k\"", &[0, 0, 0, 0, 1, 0]).await;
    assert_eq!(grpc_status(&refused), Some("3"), "{refused:?}");
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a18_a_call_that_failed_is_answered_by_its_failure() {
    let stand = Stand::of(json!({"key": "required"})).await;
    // Without a message, all of it stands among the headers.
    let reply = Reply::status(StatusCode::OK).header("content-type", "application/grpc");
    let reply = reply
        .header("grpc-status", "9")
        .header("grpc-message", "no money");
    stand.origin.answer(METHOD, reply.body(""));
    for replayed in [None, Some("true")] {
        let answer = make(&stand, "\"k\"", MESSAGE).await;
        assert_eq!(grpc_status(&answer), Some("9"), "{answer:?}");
        assert_eq!(answer.header(REPLAYED), replayed, "{answer:?}");
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
#[ignore = "it is held until it ends, so a caller that waits for a message in between waits for ever"]
async fn a35_a_stream_goes_on_before_it_ends() {
    let stand = Stand::of(json!({"key": "optional"})).await;
    // By no rule, and by one.
    for path in ["/other", METHOD] {
        // For more than a second, one message after the other.
        let parts = Parts::new(vec![MESSAGE.to_vec(); 400], None);
        let kind = "application/grpc";
        let call = send_as(kind, &stand.envoy, path, "k", true, parts);
        let began = Instant::now();
        let begins = eventually(SOON, async || {
            ensure!(stand.origin.count(path) == 1);
            Ok(began.elapsed())
        });
        let (answer, begun) = tokio::join!(call, begins);
        assert_eq!(grpc_status(&answer), Some("0"), "{answer:?}");
        let begun = begun.unwrap();
        assert!(begun < began.elapsed() / 2, "{path}: only after {begun:?}");
    }
}
