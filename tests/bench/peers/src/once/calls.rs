//! The charge that is sent, and sent again.

use std::io::Write as _;

use anyhow::Result;
use tidegate_e2e::{Answer, Client};

use super::stand::Stand;

/// Sends a charge and reads the answer; the application takes `hold` ms for it.
pub(super) async fn charge(
    stand: &Stand,
    client: &Client,
    charge: &str,
    hold: u32,
) -> Result<Answer> {
    let call = client
        .post(stand.envoy.at("/charges"))
        .header("x-account", "acme")
        .header("idempotency-key", format!("\"{charge}\""))
        .header("cookie", &stand.cookie)
        .header("content-type", "application/json")
        .body(body(charge, hold));
    call.send().await
}

/// The same request as bytes.
pub(super) fn bytes(stand: &Stand, charge: &str, hold: u32) -> Vec<u8> {
    let body = body(charge, hold);
    let mut bytes = Vec::new();
    // A vector takes whatever is written to it.
    let _ = write!(
        bytes,
        "POST /charges HTTP/1.1\r\nhost: {}\r\nx-account: acme\r\nidempotency-key: \"{charge}\"\r\ncookie: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        stand.envoy.authority(),
        stand.cookie,
        body.len(),
    );
    bytes
}

fn body(charge: &str, hold: u32) -> String {
    format!(r#"{{"charge":"{charge}","amount":34000,"hold":{hold}}}"#)
}
