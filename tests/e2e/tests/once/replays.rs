//! The stored answer, sent again.

use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Answer, Client, Reply};

use crate::script::{Step, answer, send};
use crate::stand::{CHARGES, Played, Stand, charge, charge_by};
use crate::{KEY, REPLAYED, is_problem, is_replay, is_replay_of};

/// The lines of a header, in order.
fn lines<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let lines = answer.headers.get_all(name).iter();
    lines.map(|line| line.to_str().unwrap()).collect()
}

/// What an answer keeps.
const KEPT: &str = "content-type: application/json; charset=utf-8\r\nlocation: /v1/charges/1\r\netag: W/\"v1\"\r\n\
    link: </a>; rel=\"next\", </b>; rel=\"prev\"\r\nlink: </c>\r\ncontent-language: en, fr\r\ncontent-location: /c/1\r\n\
    x-many: a, b\r\nx-many: c\r\nx-many: a, b\r\nx-empty: \r\nvary: accept\r\ncache-control: no-store\r\nlast-modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n";

/// What belongs to one exchange, one connection or one caller alone.
const NOT_KEPT: &str = "date: Mon, 01 Jan 2024 00:00:00 GMT\r\nset-cookie: sid=1\r\nset-cookie: b=2\r\n\
    www-authenticate: Bearer\r\nproxy-authenticate: Basic\r\nauthentication-info: x=1\r\nx-request-id: origin-1\r\n\
    x-correlation-id: origin-1\r\nratelimit: \"o\";r=1\r\nratelimit-policy: \"o\";q=1\r\nx-ratelimit-limit: 7\r\n\
    x-ratelimit-remaining: 7\r\nretry-after: 7\r\nidempotent-replayed: true\r\nage: 7\r\ntraceparent: 00-1\r\n\
    keep-alive: timeout=7\r\nconnection: x-hop, keep-alive\r\nx-hop: 7\r\nvia: 1.1 origin\r\nx-envoy-upstream-service-time: 7\r\n";

#[tokio::test]
async fn a11_a25_to_a29_a31_a32_what_is_replayed_and_what_is_not() {
    let stand = Played::of(json!({"key": "required"})).await;
    let body = b"{\"id\": \"ch_1\",\r\n \"text\": \"\xc3\xa9\xff\x00\"}";
    let all = [KEPT, NOT_KEPT].concat();
    stand.origin.play(vec![answer("201 Created", &all, body)]);
    let first = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(first.status, 201);
    assert_eq!(first.body.as_ref(), body);
    assert_eq!(first.header(REPLAYED), None, "the origin may not say so");
    assert_eq!(lines(&first, "set-cookie"), ["sid=1", "b=2"]);

    for client in [Client::h1(), Client::h2()] {
        let again = charge_by(&client, &stand.envoy, "k").send().await.unwrap();
        is_replay_of(&again, &first);
        let length = body.len().to_string();
        assert_eq!(lines(&again, "content-length"), [length]);
        for line in KEPT.lines() {
            let (name, _) = line.split_once(':').unwrap();
            assert_eq!(lines(&again, name), lines(&first, name), "{name}");
            assert!(!lines(&again, name).is_empty(), "{name}");
        }
        for line in NOT_KEPT.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            if name == REPLAYED {
                continue;
            }
            let again = lines(&again, name);
            assert!(!again.contains(&value), "{name}: {again:?}");
            if name == "date" {
                assert_eq!(again.len(), 1, "a date of its own");
            } else {
                assert_eq!(again, [""; 0], "{name}");
            }
        }
        // All the rest is Envoy's.
        for name in again.headers.keys() {
            let ours = ["date", "server", "content-length", REPLAYED].contains(&name.as_str());
            let kept = KEPT.contains(&format!("{name}: "));
            assert!(ours || kept, "{name}");
        }
    }
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a11_a24_a29_a43_every_status_and_way_to_write_an_answer() {
    let stand = Played::of(json!({"key": "required"})).await;
    let cases: [(&str, Step, u16, &[u8]); 12] = [
        ("empty", answer("200 OK", "", b""), 200, b""),
        ("202", answer("202 Accepted", "", b"later"), 202, b"later"),
        (
            "204",
            send("HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n"),
            204,
            b"",
        ),
        (
            "304",
            send("HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\n\r\n"),
            304,
            b"",
        ),
        (
            "303",
            answer("303 See Other", "location: /x\r\n", b""),
            303,
            b"",
        ),
        ("400", answer("400 Bad Request", "", b"no"), 400, b"no"),
        (
            "402",
            answer("402 Payment Required", "", b"declined"),
            402,
            b"declined",
        ),
        (
            "409",
            answer("409 Conflict", "", b"conflict"),
            409,
            b"conflict",
        ),
        (
            "500",
            answer("500 Internal Server Error", "", b"oops"),
            500,
            b"oops",
        ),
        ("502", answer("502 Bad Gateway", "", b"oops"), 502, b"oops"),
        (
            "chunked",
            send(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nx-t: 1\r\n\r\n",
            ),
            200,
            b"abcde",
        ),
        (
            "early",
            send(
                "HTTP/1.1 103 Early Hints\r\nlink: </early>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
                 HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nmade",
            ),
            201,
            b"made",
        ),
    ];
    for (key, step, status, body) in cases {
        stand.origin.forget();
        stand.origin.play(vec![step]);
        let first = charge(&stand.envoy, key).send().await.unwrap();
        assert_eq!(first.status, status, "{key}: {first:?}");
        assert_eq!(first.body.as_ref(), body, "{key}");
        for client in [Client::h1(), Client::h2()] {
            let again = charge_by(&client, &stand.envoy, key).send().await.unwrap();
            assert!(is_replay(&again), "{key}: {again:?}");
            is_replay_of(&again, &first);
            let length = lines(&again, "content-length");
            // Of a 304 it would be that of another answer. HTTP/2 says by the end of the stream that there is nothing.
            if [204, 304].contains(&status) || body.is_empty() && length.is_empty() {
                assert_eq!(length, [""; 0], "{key}: {again:?}");
            } else {
                assert_eq!(length, [body.len().to_string()], "{key}");
            }
            assert_eq!(lines(&again, "link"), [""; 0], "{key}");
        }
        assert_eq!(stand.origin.count(), 1, "{key}");
    }
}

#[tokio::test]
async fn a29_an_answer_that_ends_with_its_connection_or_has_trailers() {
    let stand = Played::of(json!({"key": "required"})).await;
    let ends = vec![
        send("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end"),
        Step::Close,
    ];
    stand.origin.play(ends);
    let first = charge(&stand.envoy, "close").send().await.unwrap();
    assert_eq!(first.text(), "until the end");
    let again = charge(&stand.envoy, "close").send().await.unwrap();
    is_replay_of(&again, &first);
    assert_eq!(stand.origin.count(), 1);

    // HTTP/2 all the way, so that the trailers arrive.
    let stand = Stand::of(json!({"key": "required"})).await;
    let reply = Reply::status(StatusCode::CREATED).trailer("x-checksum", "1");
    for (key, body) in [("some", "a body"), ("none", "")] {
        stand.origin.answer(CHARGES, reply.clone().body(body));
        let client = Client::h2();
        let first = charge_by(&client, &stand.envoy, key).send().await.unwrap();
        assert_eq!(first.trailers["x-checksum"], "1");
        let again = charge_by(&client, &stand.envoy, key).send().await.unwrap();
        is_replay_of(&again, &first);
        let length = again.header("content-length").unwrap_or("0");
        assert_eq!(length, body.len().to_string());
    }
    assert_eq!(stand.origin.total(), 2);
}

#[tokio::test]
async fn a30_a_coding_is_replayed_to_who_takes_it() {
    let stand = Played::of(json!({"key": "required"})).await;
    // An empty gzip member and what follows: bytes that must come back as they were.
    let bytes = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    let lines = "content-encoding: gzip\r\nvary: accept-encoding\r\n";
    stand.origin.play(vec![answer("200 OK", lines, bytes)]);
    let ask = async |accepts: &[&str]| {
        let mut call = charge(&stand.envoy, "k");
        for line in accepts {
            call = call.header("accept-encoding", line);
        }
        call.send().await.unwrap()
    };
    let first = ask(&["gzip"]).await;
    for accepts in [
        // Who says nothing takes every coding.
        &[][..],
        &["gzip"],
        &["br, GZIP;q=0.5"],
        &["br", "gzip"],
        &["*"],
        &["br, *;q=0.1"],
    ] {
        let again = ask(accepts).await;
        assert!(is_replay(&again), "{accepts:?}: {again:?}");
        is_replay_of(&again, &first);
        assert_eq!(again.header("content-encoding"), Some("gzip"));
    }
    for accepts in [&["identity"][..], &["gzip;q=0"], &["*;q=0, br"], &["br"]] {
        let refused = ask(accepts).await;
        assert_eq!(refused.status, 409, "{accepts:?}: {refused:?}");
        is_problem(&refused, 409, "response-not-stored");
    }
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a33_what_is_too_large_goes_out_whole_and_is_not_stored() {
    let stand = Stand::of(json!({"key": "required", "max_body": "64KiB"})).await;
    let envoy = &stand.envoy;
    for (length, stored) in [(65_536, true), (65_537, false), (10_000_000, false)] {
        stand.origin.forget();
        let reply = Reply::status(StatusCode::OK).body(vec![b'x'; length]);
        stand.origin.answer(CHARGES, reply);
        let key = length.to_string();
        let first = charge(envoy, &key).send().await.unwrap();
        assert_eq!(first.status, 200);
        assert_eq!(first.body.len(), length);
        for _ in 0..2 {
            let again = charge(envoy, &key).send().await.unwrap();
            if stored {
                is_replay_of(&again, &first);
            } else {
                is_problem(&again, 409, "response-not-stored");
            }
        }
        assert_eq!(stand.origin.total(), 1);
    }
}

/// An application's own error is stored as any answer is. Sent again it comes from no cluster, and is still none of the edge's.
#[tokio::test]
async fn replays_of_an_applications_errors_are_counted_apart() {
    let stand = Stand::of(json!({"key": "required"})).await;
    for (key, status) in [("bad", 500), ("worse", 599), ("declined", 402)] {
        let reply = Reply::status(StatusCode::from_u16(status).unwrap());
        stand.origin.answer(CHARGES, reply);
        for _ in 0..3 {
            let answer = charge(&stand.envoy, key).send().await.unwrap();
            assert_eq!(answer.status, status);
        }
    }
    assert_eq!(stand.origin.total(), 3);
    let counted = async |name| stand.envoy.counter(name).await.unwrap();
    assert_eq!(counted("tidegate_replays").await, 6);
    assert_eq!(counted("tidegate_replayed_errors").await, 4);
}

#[tokio::test]
async fn a11_replays_and_refusals_are_counted_and_logged() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let call = |query: &str, body: &'static str| {
        let call = Client::h1().post(stand.envoy.at(CHARGES) + query);
        call.header("x-account", "amy").header(KEY, "k").body(body)
    };
    for _ in 0..3 {
        call("", "a").send().await.unwrap();
    }
    let other = call("?other", "b").send().await.unwrap();
    is_problem(&other, 422, "idempotency-key-reused");
    let count = stand.envoy.counter("tidegate_replays").await.unwrap();
    assert_eq!(count, 2);
    let decided = async |rule, outcome| stand.envoy.decisions(rule, outcome).await.unwrap();
    assert_eq!(decided("none", "replayed").await, 2);
    assert_eq!(decided("none", "allowed").await, 1);
    assert_eq!(decided("idempotency-key-reused", "refused").await, 1);
    let line = stand.envoy.logged("/v1/charges?other").await.unwrap();
    assert_eq!(line["decision"], "refused:idempotency-key-reused");
    assert_eq!(line["details"], "tidegate_idempotency-key-reused");
    let log = stand.envoy.access_log().unwrap();
    let said: Vec<_> = log.iter().map(|line| line["decision"].as_str()).collect();
    let said = said.get(..3).unwrap();
    assert_eq!(said, [Some("allowed"), Some("replayed"), Some("replayed")]);
}
