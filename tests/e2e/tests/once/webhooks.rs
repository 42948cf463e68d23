//! Events that are delivered again.

use std::time::Duration;

use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client, Reply, eventually, flood};

use crate::parts::{Parts, send_as};
use crate::script::answer;
use crate::stand::{Played, SOON, Stand};
use crate::{REPLAYED, is_replay, is_replay_of, is_running};

/// One endpoint for each way to tell an event.
fn policy() -> Value {
    let route = |name: &str, rule: Value| {
        let path = format!("/hooks/{name}/*");
        json!({"name": name, "match": {"methods": ["POST"], "path": path}, "dedupe": rule})
    };
    json!({
        "policy": "once", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant"}]},
        "routes": [
            route("header", json!({"by": [{"header": "webhook-id"}]})),
            route("json", json!({"by": [{"json": "/data/id"}]})),
            route("digest", json!({"by": [{"body": "digest"}]})),
            route("any", json!({"by": [{"header": "x-event-id"}, {"json": "/data/id"}, {"body": "digest"}]})),
            route("status", json!({"by": [{"header": "webhook-id"}], "status": 202})),
            route("hold", json!({"by": [{"header": "webhook-id"}], "unknown": "hold"})),
            route("small", json!({"by": [{"json": "/id"}], "max_body": "64B"})),
        ],
    })
}

async fn deliver(stand: &Stand, path: &str, lines: &[(&str, &str)], body: &str) -> Answer {
    let mut call = Client::h1().post(stand.envoy.at(path));
    call = call.header("content-type", "application/json");
    for (name, value) in lines {
        call = call.header(name, value);
    }
    call.body(body.to_owned()).send().await.unwrap()
}

async fn start() -> Stand {
    Stand::start(&policy(), |b| b.concurrency(2)).await
}

#[tokio::test]
async fn e1_e2_e4_a_delivery_is_known_by_a_header_a_pointer_or_its_body() {
    let stand = start().await;
    let event = r#"{"data":{"id":"evt_1"},"at":1}"#;
    let later = r#"{"at":2, "data":{"id":"evt_1"}}"#;
    let other = r#"{"data":{"id":"evt_2"},"at":1}"#;
    let number = r#"{"data":{"id":17}}"#;
    // Timestamps and traces change with each attempt. Of each three deliveries the second is the same event as the first, and the third is another.
    type Delivery<'a> = (&'a str, &'a str);
    let cases: [(&str, [Delivery<'_>; 3]); 7] = [
        (
            "/hooks/header/a",
            [("m1", event), ("m1", event), ("m2", event)],
        ),
        (
            "/hooks/json/a",
            [("m1", event), ("m2", later), ("m1", other)],
        ),
        (
            "/hooks/json/b",
            [("m1", number), ("m2", number), ("m1", event)],
        ),
        (
            "/hooks/digest/a",
            [("m1", event), ("m2", event), ("m1", later)],
        ),
        (
            "/hooks/any/a",
            [("m1", event), ("m2", later), ("m1", other)],
        ),
        (
            "/hooks/any/b",
            [("m1", "text"), ("m2", "text"), ("m1", "other text")],
        ),
        (
            "/hooks/status/a",
            [("m1", event), ("m1", event), ("m2", event)],
        ),
    ];
    for (path, [first, same, other]) in cases {
        let ask = async |(id, body): Delivery<'_>| {
            let lines = ["webhook-id", "webhook-timestamp", "traceparent"].map(|name| (name, id));
            deliver(&stand, path, &lines, body).await
        };
        let first = ask(first).await;
        assert_eq!(first.status, 200, "{path}: {first:?}");
        let again = ask(same).await;
        assert!(again.status.is_success(), "{path}: {again:?}");
        assert!(is_replay(&again), "{path}: {again:?}");
        if path.contains("status") {
            assert_eq!(again.status, 202);
            assert!(again.body.is_empty());
        } else {
            is_replay_of(&again, &first);
        }
        assert!(!is_replay(&ask(other).await), "{path}");
        assert_eq!(stand.origin.count(path), 2, "{path}");
    }
}

#[tokio::test]
async fn e5_a_duplicate_of_a_delivery_that_runs_is_told_to_come_back() {
    let stand = start().await;
    let path = "/hooks/header/slow";
    let reply = Reply::status(StatusCode::OK).after(Duration::from_millis(600));
    stand.origin.answer(path, reply);
    let id = [("webhook-id", "m1")];
    let (first, ()) = tokio::join!(deliver(&stand, path, &id, "{}"), async {
        eventually(SOON, async || {
            ensure!(stand.origin.count(path) == 1);
            Ok(())
        })
        .await
        .unwrap();
        for _ in 0..4 {
            is_running(&deliver(&stand, path, &id, "{}").await);
        }
    });
    assert_eq!(first.status, 200);
    is_replay_of(&deliver(&stand, path, &id, "{}").await, &first);
    assert_eq!(stand.origin.count(path), 1);
}

#[tokio::test]
async fn e6_only_a_2xx_is_final() {
    let stand = start().await;
    for path in ["/hooks/header/f", "/hooks/digest/f", "/hooks/json/f"] {
        let id = [("webhook-id", "m1")];
        let body = r#"{"data":{"id":"evt_1"}}"#;
        let failures = [500, 503, 429, 400, 401, 404, 302, 304, 410];
        for status in failures {
            let code = StatusCode::from_u16(status).unwrap();
            stand.origin.answer(path, Reply::status(code));
            let failed = deliver(&stand, path, &id, body).await;
            assert_eq!(failed.status, status, "{path}: {failed:?}");
            assert_eq!(failed.header(REPLAYED), None);
        }
        stand
            .origin
            .answer(path, Reply::status(StatusCode::ACCEPTED).body("taken"));
        let taken = deliver(&stand, path, &id, body).await;
        assert_eq!(taken.status, 202, "{path}");
        stand.origin.answer(path, Reply::status(StatusCode::OK));
        is_replay_of(&deliver(&stand, path, &id, body).await, &taken);
        assert_eq!(stand.origin.count(path), 10, "{path}");
    }
}

#[tokio::test]
async fn e3_one_id_at_two_endpoints_or_tenants_is_two_events() {
    let stand = start().await;
    for path in ["/hooks/header/a", "/hooks/header/b", "/hooks/status/a"] {
        for host in ["a.example", "b.example"] {
            for tenant in ["acme", "umbrella"] {
                let lines = [("webhook-id", "m1"), ("x-tenant", tenant), ("host", host)];
                let first = deliver(&stand, path, &lines, "{}").await;
                assert!(!is_replay(&first), "{path} {host} {tenant}: {first:?}");
                assert!(is_replay(&deliver(&stand, path, &lines, "{}").await));
            }
        }
    }
    assert_eq!(stand.origin.total(), 12);
}

#[tokio::test]
async fn e8_a_replay_with_a_fresh_id_is_caught_by_its_body() {
    let stand = start().await;
    let body = r#"{"action":"opened","delivery":1}"#;
    let lines = |id| {
        [
            ("x-github-delivery", id),
            ("x-hub-signature-256", "sha256=1"),
        ]
    };
    let first = deliver(&stand, "/hooks/digest/gh", &lines("1"), body).await;
    assert_eq!(first.status, 200);
    for id in ["2", "3"] {
        let again = deliver(&stand, "/hooks/digest/gh", &lines(id), body).await;
        is_replay_of(&again, &first);
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn an_event_without_an_identity_is_delivered() {
    let stand = start().await;
    for (path, lines, body) in [
        ("/hooks/header/n", &[][..], "{}"),
        ("/hooks/header/n", &[("webhook-id", "")], "{}"),
        ("/hooks/header/n", &[("webhook-id", "  ")], "{}"),
        ("/hooks/json/n", &[], "no json"),
        ("/hooks/json/n", &[], r#"{"data":{"id":""}}"#),
        ("/hooks/json/n", &[], r#"{"data":{"id":{}}}"#),
        ("/hooks/json/n", &[], ""),
    ] {
        for _ in 0..2 {
            let answer = deliver(&stand, path, lines, body).await;
            assert_eq!(answer.status, 200, "{path} {body}: {answer:?}");
            assert!(!is_replay(&answer), "{path} {body}");
        }
    }
    assert_eq!(stand.origin.total(), 14);
    let twice = [("webhook-id", "m1"), ("webhook-id", "m2")];
    let refused = deliver(&stand, "/hooks/header/n", &twice, "{}").await;
    assert_eq!(refused.status, 400, "{refused:?}");
    // Not of one event but of one text: no more than the policy reads.
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(60));
    let refused = deliver(&stand, "/hooks/small/n", &[], &long).await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert_eq!(stand.origin.total(), 14);
}

#[tokio::test]
async fn e6_a_delivery_that_was_not_confirmed_is_let_through_unless_it_is_held() {
    let stand = start().await;
    for (path, held) in [("/hooks/header/u", false), ("/hooks/hold/u", true)] {
        stand.origin.answer(
            path,
            Reply::status(StatusCode::OK).after(Duration::from_secs(2)),
        );
        let call = Client::h1()
            .post(stand.envoy.at(path))
            .header("webhook-id", "m1");
        let gone = call
            .body("{}")
            .within(Duration::from_millis(200))
            .send()
            .await;
        assert!(gone.is_err(), "{gone:?}");
        stand
            .origin
            .answer(path, Reply::status(StatusCode::OK).body("taken"));
        let again = eventually(SOON, async || {
            let answer = deliver(&stand, path, &[("webhook-id", "m1")], "{}").await;
            ensure!(!answer.text().contains("request-in-progress"), "{answer:?}");
            Ok(answer)
        });
        let again = again.await.unwrap();
        if held {
            crate::is_problem(&again, 409, "outcome-unknown");
        } else {
            assert_eq!(again.text(), "taken");
        }
    }
}

#[tokio::test]
async fn e4_e5_of_200_deliveries_at_once_one_is_taken() {
    let stand = start().await;
    for path in [
        "/hooks/header/p",
        "/hooks/json/p",
        "/hooks/digest/p",
        "/hooks/status/p",
    ] {
        stand.origin.answer(
            path,
            Reply::status(StatusCode::OK).after(Duration::from_millis(30)),
        );
        let url = stand.envoy.at(path);
        let call = move |client: &Client, _| {
            let call = client.post(&url).header("webhook-id", "m1");
            call.body(r#"{"data":{"id":"evt_1"}}"#)
        };
        for answer in flood(50, 200, call).await.unwrap() {
            if answer.status == 409 {
                is_running(&answer);
            } else {
                assert!(answer.status.is_success(), "{path}: {answer:?}");
            }
        }
        assert_eq!(stand.origin.count(path), 1, "{path}");
    }
}

#[tokio::test]
async fn e10_no_byte_of_a_delivery_changes_on_its_way() {
    let stand = Played::start(&policy(), |b| b.concurrency(2)).await;
    stand.origin.play(vec![answer("200 OK", "", b"")]);
    // Another event each time. What a parser would write otherwise, a large one, every byte there is, and hardly any.
    let event = |n: usize| {
        let text = r#"{ "data" : {"id": "caf\u00e9\/ N", "id":"N"},	"n": 1.0e+01 , "n":1}"#;
        format!("\r\n{}\n\n", text.replace('N', &n.to_string())).into_bytes()
    };
    let large = |n: usize| {
        let filler = "y".repeat(200_000);
        format!(r#"{{"filler":"{filler}","data":{{"id":{n}}}}}"#).into_bytes()
    };
    let every = |n: usize| {
        let bytes = (0..=255).cycle().take(70_000);
        bytes.chain(n.to_be_bytes()).collect::<Vec<u8>>()
    };
    let least = |n: usize| n.to_be_bytes()[7..].to_vec();
    let bodies: [&dyn Fn(usize) -> Vec<u8>; 4] = [&event, &large, &every, &least];
    let mut sent = 0;
    for path in [
        "/hooks/json/b",
        "/hooks/digest/b",
        "/hooks/header/b",
        "/hooks/any/b",
    ] {
        for body in bodies {
            for h2 in [false, true] {
                sent += 1;
                let body = body(sent);
                let parts = Parts::new(body.chunks(9_973).map(<[u8]>::to_vec).collect(), None);
                let told = send_as("application/json", &stand.envoy, path, "k", h2, parts).await;
                assert_eq!(told.status, 200, "{path}: {told:?}");
                let got = stand.origin.sent();
                assert_eq!(got.len(), sent, "{path}");
                assert!(got[sent - 1].body == body, "{path}: {} bytes", body.len());
            }
        }
    }
    assert_eq!(sent, 32);
}

#[tokio::test]
async fn e12_an_id_in_a_header_tells_an_event_by_itself_as_documented() {
    let stand = start().await;
    let id = [("webhook-id", "m1")];
    let first = deliver(&stand, "/hooks/header/e", &id, r#"{"a":1}"#).await;
    assert_eq!(first.status, 200);
    // No sender is to be told to try again for ever because it writes its body anew.
    let other = deliver(&stand, "/hooks/header/e", &id, r#"{"a":2}"#).await;
    assert!(is_replay(&other), "{other:?}");
    assert_eq!(stand.origin.count("/hooks/header/e"), 1);
}
