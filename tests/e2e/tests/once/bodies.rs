//! The body of the request: what it is recognised by, and what the origin gets.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use std::time::Duration;
use tidegate_e2e::{Client, Reply};

use crate::parts::{Parts, Wire, head, send};
use crate::script::{answer, wait};
use crate::stand::{BODY, CHARGES, Played, Stand, charge, charge_by, nameless, policy};
use crate::{KEY, is_problem, is_replay, is_replay_of};

/// Bytes of every kind, so many.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(next).collect()
}

fn split(body: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut rest = body;
    let mut parts = Vec::new();
    for size in sizes.iter().cycle() {
        let (part, after) = rest.split_at((*size).min(rest.len()));
        parts.push(part.to_vec());
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    parts
}

fn trailers() -> HeaderMap {
    let name = HeaderName::from_static("x-checksum");
    HeaderMap::from_iter([(name, HeaderValue::from_static("1"))])
}

#[tokio::test]
async fn a35_e10_a_body_is_one_body_however_it_is_split() {
    let stand = Played::of(json!({"key": "required"})).await;
    stand.origin.play(vec![answer("201 Created", "", b"made")]);
    for length in [1, 77, 20_000, 300_000] {
        let body = bytes(length);
        let sizes: &[&[usize]] = &[
            &[length],
            &[length.div_ceil(2)],
            &[1, length.div_ceil(3)],
            &[length.div_ceil(40), 1, length.div_ceil(20)],
        ];
        // Whoever comes first, the others are the same request.
        for first in 0..4 {
            let key = format!("{length}-{first}");
            stand.origin.forget();
            let mut answers = Vec::new();
            for way in 0..4 {
                let sizes = sizes[way];
                let answer = match (way + first) % 4 {
                    0 => {
                        let call = charge(&stand.envoy, &key);
                        call.body(body.clone()).send().await.unwrap()
                    }
                    1 => {
                        let parts = Parts::new(split(&body, sizes), None);
                        send(&stand.envoy, CHARGES, &key, false, parts).await
                    }
                    2 => {
                        let parts = Parts::new(split(&body, sizes), None);
                        send(&stand.envoy, CHARGES, &key, true, parts).await
                    }
                    _ => {
                        let parts = Parts::new(split(&body, sizes), Some(trailers()));
                        send(&stand.envoy, CHARGES, &key, true, parts).await
                    }
                };
                assert_eq!(answer.status, 201, "{key} {way}: {answer:?}");
                answers.push(answer);
            }
            for answer in &answers[1..] {
                is_replay_of(answer, &answers[0]);
            }
            let sent = stand.origin.sent();
            assert_eq!(sent.len(), 1, "{key}");
            assert!(sent[0].body == body, "{key}: {} bytes", sent[0].body.len());
        }
    }
}

#[tokio::test]
async fn a35_trailers_of_a_request_reach_the_origin() {
    let stand = Stand::of(json!({"key": "required"})).await;
    for (n, parts) in [vec![], vec![b"a".to_vec()], split(&bytes(70_000), &[9_999])]
        .into_iter()
        .enumerate()
    {
        let length: usize = parts.iter().map(Vec::len).sum();
        let key = n.to_string();
        let body = Parts::new(parts, Some(trailers()));
        let answer = send(&stand.envoy, CHARGES, &key, true, body).await;
        assert_eq!(answer.status, 200, "{n} {answer:?}");
        let seen = stand.origin.last(CHARGES).unwrap();
        assert_eq!(seen.body_len, length);
        let again = Parts::new(vec![bytes(70_000)], None);
        let again = send(&stand.envoy, CHARGES, &key, true, again).await;
        assert_eq!(is_replay(&again), n == 2, "{again:?}");
    }
    assert_eq!(stand.origin.total(), 3);
}

#[tokio::test]
async fn a10_another_body_is_refused_and_shows_nothing_of_the_first() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| b.concurrency(2)).await;
    let reply = Reply::status(http::StatusCode::OK).body("the first answer");
    let slow = reply.clone().after(Duration::from_millis(600));
    for (key, reply) in [("done", reply), ("running", slow)] {
        stand.origin.answer(CHARGES, reply);
        let first = charge(&stand.envoy, key)
            .body(r#"{"card":"4242-secret"}"#)
            .send();
        let first = tokio::spawn(first);
        let seen = tidegate_e2e::eventually(crate::stand::SOON, async || {
            let seen = stand.origin.seen(CHARGES);
            let mut keys = seen
                .iter()
                .filter_map(|seen| seen.headers[KEY].to_str().ok());
            anyhow::ensure!(keys.any(|seen| seen.contains(key)));
            Ok(())
        });
        if key == "done" {
            seen.await.unwrap();
            assert_eq!(first.await.unwrap().unwrap().status, 200);
        } else {
            // In the meantime it is with the origin, which shows it when it has all of it and answers when it wants to.
            let counted = tidegate_e2e::eventually(crate::stand::SOON, async || {
                anyhow::ensure!(stand.origin.count(CHARGES) == 2);
                Ok(())
            });
            counted.await.unwrap();
        }
        for _ in 0..3 {
            let other = charge(&stand.envoy, key).body(r#"{"card":"other"}"#);
            let other = other.send().await.unwrap();
            is_problem(&other, 422, "idempotency-key-reused");
            assert!(!other.text().contains("secret"), "{other:?}");
            assert!(!other.text().contains("first answer"), "{other:?}");
        }
    }
    assert_eq!(stand.origin.total(), 2);
}

#[tokio::test]
async fn a36_what_makes_two_requests_one() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let with = |query: &str, kind: &str, coding: &str, trace: &str| {
        let client = Client::h1();
        let call = client.post(stand.envoy.at(CHARGES) + query);
        let call = call.header("content-type", kind).header("x-account", "amy");
        let call = if coding.is_empty() {
            call
        } else {
            call.header("content-encoding", coding)
        };
        let call = call
            .header("traceparent", trace)
            .header("user-agent", trace);
        call.header("date", trace).header(KEY, "\"k\"").body(BODY)
    };
    let first = with("?a=1", "application/json", "", "1")
        .send()
        .await
        .unwrap();
    assert_eq!(first.status, 200);
    let again = with("?a=1", "application/json", "", "2")
        .send()
        .await
        .unwrap();
    is_replay_of(&again, &first);
    for other in [
        with("", "application/json", "", "1"),
        with("?a=2", "application/json", "", "1"),
        with("?a=1", "text/plain", "", "1"),
        with("?a=1", "application/json", "gzip", "1"),
    ] {
        let other = other.send().await.unwrap();
        is_problem(&other, 422, "idempotency-key-reused");
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a36_a37_a_fingerprint_of_parts_or_of_the_key_alone() {
    let json = json!({"key": "required", "fingerprint": {"json": ["/amount", "/to"]}});
    let stand = Stand::of(json).await;
    let send = async |stand: &Stand, body: &str| {
        let call = charge(&stand.envoy, "k").body(body.to_owned());
        call.send().await.unwrap()
    };
    let first = send(&stand, r#"{"amount":100,"to":{"a":1,"b":2},"at":1}"#).await;
    assert_eq!(first.status, 200);
    let again = send(&stand, r#"{ "to": {"b":2, "a":1}, "at":2, "amount":100}"#).await;
    is_replay_of(&again, &first);
    for other in [
        r#"{"amount":101,"to":{"a":1,"b":2},"at":1}"#,
        r#"{"amount":100,"at":1}"#,
        "no json",
    ] {
        is_problem(&send(&stand, other).await, 422, "idempotency-key-reused");
    }

    let stand = Stand::of(json!({"key": "required", "fingerprint": "key-only"})).await;
    let first = send(&stand, "--boundary-1").await;
    is_replay_of(&send(&stand, "--boundary-2").await, &first);
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a34_a_body_above_the_limit_is_refused_and_frees_the_key() {
    let stand = Stand::of(json!({"key": "required", "max_body": "1KiB"})).await;
    let envoy = &stand.envoy;
    for (n, length) in [1_025, 5_000, 200_000].into_iter().enumerate() {
        let body = vec![b'x'; length];
        for (way, h2) in [("h1", false), ("h2", true)] {
            let key = format!("{n}-{way}");
            let client = if h2 { Client::h2() } else { Client::h1() };
            let stated = charge_by(&client, envoy, &key).body(body.clone());
            is_problem(&stated.send().await.unwrap(), 413, "body-too-large");
            let parts = Parts::new(split(&body, &[700]), None);
            // On HTTP/1.1 the connection may be gone before all of it was sent; long bodies would tell of that only.
            if h2 || length < 10_000 {
                let unstated = send(envoy, CHARGES, &key, h2, parts).await;
                is_problem(&unstated, 413, "body-too-large");
            }
            assert_eq!(stand.origin.total(), 0);
        }
    }
    for (key, h2) in [("0-h1", false), ("0-h2", true)] {
        let parts = Parts::new(split(&[b'x'; 1_024], &[700]), None);
        let answer = send(envoy, CHARGES, key, h2, parts).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!is_replay(&answer));
    }
    assert_eq!(stand.origin.total(), 2);
}

#[tokio::test]
async fn a35_e10_a_client_may_wait_to_be_told_to_go_on() {
    let stand = Played::of(json!({"key": "required", "max_body": "1KiB"})).await;
    stand
        .origin
        .play(vec![wait(20), answer("201 Created", "", b"made")]);
    let lines = format!("content-length: {}\r\nexpect: 100-continue\r\n", BODY.len());
    let mut replies = Vec::new();
    for _ in 0..2 {
        let mut wire = Wire::open(&stand.envoy).await;
        wire.send(head(CHARGES, "k", &lines)).await;
        let told = wire.until(b"\r\n\r\n").await;
        assert!(told.starts_with(b"HTTP/1.1 100 "), "{told:?}");
        wire.send(BODY).await;
        replies.push(String::from_utf8(wire.until(b"made").await).unwrap());
    }
    assert!(
        replies
            .iter()
            .all(|reply| reply.starts_with("HTTP/1.1 201 "))
    );
    assert!(!replies[0].contains("idempotent-replayed"));
    assert!(replies[1].contains("idempotent-replayed: true"));
    let sent = stand.origin.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].body, BODY.as_bytes());
    // And without waiting, as the same host sees it.
    let call = nameless(&Client::h1(), Method::POST, &stand.envoy, CHARGES);
    let call = call
        .header("host", "api.example")
        .header("x-account", "amy");
    let answer = call.header(KEY, "k").body(BODY).send().await.unwrap();
    assert!(is_replay(&answer), "{answer:?}");

    let mut wire = Wire::open(&stand.envoy).await;
    let lines = "content-length: 5000\r\nexpect: 100-continue\r\nconnection: close\r\n";
    wire.send(head(CHARGES, "large", lines)).await;
    let told = String::from_utf8(wire.until(b"body-too-large").await).unwrap();
    assert!(told.contains("HTTP/1.1 413 "), "{told}");
}

#[tokio::test]
async fn a35_no_body_is_no_body_however_that_is_said() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let first = charge(&stand.envoy, "k").body("").send().await.unwrap();
    assert_eq!(first.status, 200);
    for h2 in [false, true] {
        for trailers in [None, Some(trailers())] {
            let parts = Parts::new(Vec::new(), trailers);
            let again = send(&stand.envoy, CHARGES, "k", h2, parts).await;
            is_replay_of(&again, &first);
        }
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a34_the_default_limit_is_what_envoy_buffers() {
    const MIB: usize = 1 << 20;
    let stand = Stand::of(json!({"key": "required"})).await;
    for h2 in [false, true] {
        let client = if h2 { Client::h2() } else { Client::h1() };
        for (length, fits) in [(MIB, true), (MIB + 1, false)] {
            stand.origin.forget();
            let key = format!("{length}-{h2}");
            for _ in 0..2 {
                let call = charge_by(&client, &stand.envoy, &key).body(bytes(length));
                let answer = call.send().await.unwrap();
                if fits {
                    assert_eq!(answer.status, 200, "{key}: {answer:?}");
                } else {
                    is_problem(&answer, 413, "body-too-large");
                }
            }
            assert_eq!(stand.origin.total(), u64::from(fits), "{key}");
        }
    }
}
