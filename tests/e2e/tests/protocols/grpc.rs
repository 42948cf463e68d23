//! gRPC callers get the status of their own world.

use http::StatusCode;
use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Client, Envoy, structured};

use crate::{policy, send, start};

fn call(envoy: &Envoy, path: &str, kind: &str) -> Call {
    let call = Client::h2().post(envoy.at(path)).header("te", "trailers");
    call.header("content-type", kind).body(&[0_u8; 5][..])
}

/// A refusal is all headers: HTTP 200 and no body.
fn refused(answer: &Answer, status: &str) {
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("grpc-status"), Some(status));
    assert_eq!(answer.header("content-type"), Some("application/grpc"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(
        answer.body.is_empty() && answer.trailers.is_empty(),
        "{answer:?}"
    );
}

#[tokio::test]
async fn grpc_callers_get_a_grpc_status() {
    let (envoy, origin) = start(&policy(&json!({}))).await;
    for (number, kind) in ["application/grpc", "application/grpc+proto"]
        .into_iter()
        .enumerate()
    {
        let account = kind;
        for _ in 0..2 {
            let answer = send(call(&envoy, "/s.S/M", kind).header("x-account", account)).await;
            assert_eq!(answer.trailers["grpc-status"], "0");
        }
        let answer = send(call(&envoy, "/s.S/M", kind).header("x-account", account)).await;
        refused(&answer, "8");
        let message = answer.header("grpc-message").unwrap();
        assert!(
            message.contains("`account`") && message.contains("3600 s"),
            "{message}"
        );
        assert_eq!(answer.retry_after(), Some(3600));
        assert_eq!(
            structured::remaining(&answer.headers).unwrap(),
            [("account".to_owned(), 0)]
        );

        refused(&send(call(&envoy, "/closed", kind)).await, "16");
        let twice = call(&envoy, "/s.S/M", kind)
            .header("x-account", "a")
            .header("x-account", "b");
        let answer = send(twice).await;
        refused(&answer, "3");
        assert!(answer.header("grpc-message").unwrap().contains("x-account"));
        assert_eq!(origin.total(), 2 * (number as u64 + 1));
    }
}

#[tokio::test]
async fn a_media_type_that_only_begins_like_grpc_gets_http() {
    let (envoy, _origin) = start(&policy(&json!({}))).await;
    let answer = send(call(&envoy, "/closed", "application/grpc-web+proto")).await;
    assert_eq!(
        (answer.status, answer.header("grpc-status")),
        (StatusCode::UNAUTHORIZED, None)
    );
    answer.problem().unwrap();
}

#[tokio::test]
async fn b22_the_fields_stand_in_headers_and_never_in_trailers() {
    let (envoy, _origin) = start(&policy(&json!({}))).await;
    let answer = send(call(&envoy, "/s.S/M", "application/grpc").header("x-account", "a")).await;
    assert_eq!(
        structured::remaining(&answer.headers).unwrap(),
        [("account".to_owned(), 1)]
    );
    assert_eq!(answer.trailers.len(), 1, "{:?}", answer.trailers);
    assert_eq!(answer.trailers["grpc-status"], "0");
}
