//! Clients that hang up.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use tidegate_e2e::{Client, Envoy, eventually};

use crate::is_problem;
use crate::parts::{Wire, head};
use crate::script::{answer, half, send, wait};
use crate::stand::{BODY, CHARGES, Played, SOON, charge, charge_by, settled};

/// Sends a charge and hangs up after 100 ms.
async fn hang_up(envoy: &Envoy, key: &str, until: &[u8]) {
    let mut wire = Wire::open(envoy).await;
    let length = format!("content-length: {}\r\n", BODY.len());
    wire.send(head(CHARGES, key, &length)).await;
    wire.send(BODY).await;
    if !until.is_empty() {
        wire.until(until).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// The answer to the same charge again, which is sent as the same host.
async fn again(envoy: &Envoy, key: &str) -> String {
    let mut wire = Wire::open(envoy).await;
    let lines = format!("content-length: {}\r\nconnection: close\r\n", BODY.len());
    wire.send(head(CHARGES, key, &lines)).await;
    wire.send(BODY).await;
    String::from_utf8(wire.until(b"nothing but the end").await).unwrap()
}

#[tokio::test]
async fn a23_a_client_that_hangs_up_leaves_an_unknown_outcome() {
    let stand = Played::of(json!({"key": "required"})).await;
    let slow = vec![wait(1_000), answer("200 OK", "", b"made")];
    let halves = vec![half(), wait(1_000), send("defghij")];
    for (key, steps, until) in [("slow", slow, &b""[..]), ("half", halves, b"abc")] {
        stand.origin.forget();
        stand.origin.play(steps);
        hang_up(&stand.envoy, key, until).await;
        let held = eventually(SOON, async || {
            let answer = again(&stand.envoy, key).await;
            ensure!(!answer.contains("request-in-progress"), "{answer}");
            Ok(answer)
        });
        let held = held.await.unwrap();
        assert!(held.contains("HTTP/1.1 409 "), "{key}: {held}");
        assert!(held.contains("outcome-unknown"), "{key}: {held}");
        assert_eq!(stand.origin.count(), 1, "{key}");
    }
}

#[tokio::test]
async fn a17_a_client_that_hangs_up_may_come_back_after_the_lease() {
    let rule = json!({"key": "required", "unknown": "retry", "lease": "2s"});
    let stand = Played::of(rule).await;
    stand
        .origin
        .play(vec![wait(1_000), answer("200 OK", "", b"made")]);
    let began = tokio::time::Instant::now();
    hang_up(&stand.envoy, "k", b"").await;
    stand.origin.play(vec![answer("200 OK", "", b"made")]);
    let early = again(&stand.envoy, "k").await;
    assert!(early.contains("request-in-progress"), "{early}");
    assert!(early.contains("retry-after: "), "{early}");
    let made = eventually(SOON, async || {
        let answer = again(&stand.envoy, "k").await;
        ensure!(answer.contains("HTTP/1.1 200 "), "{answer}");
        Ok(answer)
    });
    let made = made.await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert!(!made.contains("idempotent-replayed"), "{made}");
    assert_eq!(stand.origin.count(), 2);
    let third = again(&stand.envoy, "k").await;
    assert!(third.contains("idempotent-replayed: true"), "{third}");
}

#[tokio::test]
async fn a21_a_client_that_hangs_up_before_its_body_is_whole_frees_the_key() {
    let stand = Played::of(json!({"key": "required"})).await;
    {
        let mut wire = Wire::open(&stand.envoy).await;
        wire.send(head(CHARGES, "k", "content-length: 32\r\n"))
            .await;
        wire.send(&BODY.as_bytes()[..5]).await;
        // It is claimed when its head has come.
        let claimed = eventually(SOON, async || {
            let answer = again(&stand.envoy, "k").await;
            ensure!(answer.contains("request-in-progress"), "{answer}");
            Ok(())
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        claimed.await.unwrap();
    }
    let made = eventually(SOON, async || {
        let answer = again(&stand.envoy, "k").await;
        ensure!(answer.contains("HTTP/1.1 200 "), "{answer}");
        Ok(answer)
    });
    assert!(!made.await.unwrap().contains("idempotent-replayed"));
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a23_a_stream_that_is_cancelled_leaves_an_unknown_outcome_and_its_connection_alone() {
    let stand = Played::of(json!({"key": "required"})).await;
    stand
        .origin
        .then(vec![wait(1_000), answer("200 OK", "", b"made")]);
    let client = Client::h2();
    // On HTTP/2 a call that is given up is a stream that is reset.
    let call = charge_by(&client, &stand.envoy, "k").within(Duration::from_millis(200));
    call.send().await.unwrap_err();
    is_problem(&settled(&stand.envoy, "k").await, 409, "outcome-unknown");
    let other = charge_by(&client, &stand.envoy, "other")
        .send()
        .await
        .unwrap();
    assert_eq!(other.status, 200);
    let again = charge(&stand.envoy, "k").send().await.unwrap();
    is_problem(&again, 409, "outcome-unknown");
    assert_eq!(stand.origin.count(), 2);
}
