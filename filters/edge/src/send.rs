//! Sending an answer in the origin's place.

use tidegate_core::answer::Answer;
use tidegate_core::idempotency::Replay;

use crate::host;
use crate::pairs;

/// Whether a caller speaks gRPC.
pub(crate) fn is_grpc(content_type: &[u8]) -> bool {
    content_type
        .strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Sends an answer, with more header lines than its own. A gRPC caller gets the detail as its message; the host leaves the body out for HEAD.
pub(crate) fn send(
    answer: &Answer,
    more: &[(&'static str, String)],
    rule: &str,
    grpc: bool,
) -> Result<(), host::Failed> {
    let own = answer
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_ref()));
    let more = more.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<(&[u8], &[u8])> = own
        .chain(more)
        .filter(|(name, _)| !grpc || *name != "content-type")
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let headers = pairs::write(&headers);
    let details = format!("tidegate_{rule}");
    if grpc {
        let status = i32::from(answer.grpc_status as u8);
        host::send_response(
            200,
            &details,
            &headers,
            answer.grpc_message.as_bytes(),
            status,
        )
    } else {
        host::send_response(answer.status, &details, &headers, &answer.body, -1)
    }
}

/// Sends a stored answer again. The host counts its length anew.
pub(crate) fn send_replay(replay: &Replay) -> Result<(), host::Failed> {
    let headers: Vec<(&[u8], &[u8])> = replay
        .headers
        .iter()
        .map(|(name, value)| (name.as_slice(), value.as_slice()))
        .collect();
    let headers = pairs::write(&headers);
    host::send_response(
        replay.status,
        "tidegate_replayed",
        &headers,
        &replay.body,
        -1,
    )
}
