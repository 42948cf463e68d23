//! What becomes of a call that the origin has, and what the next attempt gets.

use anyhow::ensure;
use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Client, Reply, eventually};

use crate::script::{Step, answer, half, send, wait};
use crate::stand::{BODY, CHARGES, Played, SOON, Stand, charge, policy, settled, within};
use crate::{KEY, is_problem, is_replay, is_replay_of, is_running};

#[tokio::test]
async fn a23_sent_and_not_answered_is_unknown_and_held() {
    let hold = policy(&json!({"key": "required"}));
    let stand = Played::start(&hold, |b| b.routes(within("0.5s"))).await;
    let late = answer("200 OK", "", b"late");
    let cases = [
        ("reset before the answer", vec![Step::Reset], Some(503)),
        ("closed before the answer", vec![Step::Close], Some(503)),
        (
            "reset in its head",
            vec![send("HTTP/1.1 200 OK\r\nx-a: "), wait(20), Step::Reset],
            Some(502),
        ),
        (
            "nonsense",
            vec![send("nonsense\r\n\r\n"), wait(20)],
            Some(502),
        ),
        (
            "reset in its body",
            vec![half(), wait(20), Step::Reset],
            None,
        ),
        (
            "closed in its body",
            vec![half(), wait(20), Step::Close],
            None,
        ),
        ("too late", vec![wait(800), late], Some(504)),
        (
            "its body too late",
            vec![half(), wait(800), send("defghij")],
            None,
        ),
        (
            "closed in a chunk",
            vec![
                send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc"),
                wait(20),
                Step::Close,
            ],
            None,
        ),
    ];
    for (key, steps, status) in cases {
        stand.origin.forget();
        stand.origin.play(steps);
        let first = charge(&stand.envoy, key).send().await;
        match status {
            Some(status) => {
                let first = first.unwrap();
                assert_eq!(first.status, status, "{key}: {first:?}");
            }
            // The answer had begun, so all that is left is to break off.
            None => assert!(first.is_err(), "{key}: {first:?}"),
        }
        // What it would get is there; nobody asks for it.
        stand.origin.play(vec![answer("200 OK", "", b"again")]);
        for _ in 0..2 {
            let again = settled(&stand.envoy, key).await;
            assert_eq!(again.status, 409, "{key}: {again:?}");
            is_problem(&again, 409, "outcome-unknown");
        }
        assert_eq!(stand.origin.count(), 1, "{key}");
    }
    // And what is late for one is not taken for another's.
    let other = charge(&stand.envoy, "other").send().await.unwrap();
    assert_eq!(other.text(), "again");
}

#[tokio::test]
async fn a23_an_answer_that_came_whole_is_stored_whatever_comes_behind_it() {
    let stand = Played::of(json!({"key": "required"})).await;
    let made = || answer("201 Created", "", b"made");
    let cases = [
        ("reset", vec![made(), wait(30), Step::Reset]),
        ("closed", vec![made(), Step::Close]),
        ("more than it said", vec![made(), send("more")]),
        (
            "slowly",
            vec![half(), wait(300), send("def"), wait(300), send("ghij")],
        ),
    ];
    for (key, steps) in cases {
        stand.origin.forget();
        stand.origin.play(steps);
        let first = charge(&stand.envoy, key).send().await.unwrap();
        assert!(
            [200, 201].contains(&first.status.as_u16()),
            "{key}: {first:?}"
        );
        is_replay_of(&settled(&stand.envoy, key).await, &first);
        assert_eq!(stand.origin.count(), 1, "{key}");
        // The next one comes on a connection of its own, not on one that is about to break.
        eventually(SOON, async || {
            let open = stand
                .envoy
                .stat("cluster.origin.upstream_cx_active")
                .await?;
            ensure!(open == 0 || key == "slowly", "{open} are open");
            Ok(())
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn a23_by_503_and_429_the_origin_did_not_take_it() {
    let mut rules = policy(&json!({"key": "required"}));
    let changed = json!({
        "name": "changed", "match": {"path": "/changed"},
        "idempotency": {"key": "required", "release_statuses": [500, 404]},
    });
    rules["routes"].as_array_mut().unwrap().push(changed);
    let stand = Stand::start(&rules, |b| b).await;
    for (path, released) in [(CHARGES, [429, 503]), ("/changed", [500, 404])] {
        let charge = |key: &str| {
            let call = Client::h1().post(stand.envoy.at(path));
            call.header("x-account", "amy").header(KEY, key).body(BODY)
        };
        for status in [429_u16, 503, 500, 404, 502, 504] {
            stand.origin.forget();
            let code = StatusCode::from_u16(status).unwrap();
            stand
                .origin
                .answer(path, Reply::status(code).body("not now"));
            let key = status.to_string();
            let first = charge(&key).send().await.unwrap();
            assert_eq!(first.status, status);
            assert_eq!(first.text(), "not now");
            stand
                .origin
                .answer(path, Reply::status(StatusCode::OK).body("made"));
            let again = charge(&key).send().await.unwrap();
            if released.contains(&status) {
                assert_eq!(again.text(), "made", "{status}: {again:?}");
                assert!(!is_replay(&again));
                is_replay_of(&charge(&key).send().await.unwrap(), &again);
            } else {
                is_replay_of(&again, &first);
            }
            let ran = if released.contains(&status) { 2 } else { 1 };
            assert_eq!(stand.origin.total(), ran, "{status}");
        }
    }
}

#[tokio::test]
async fn a8_a9_while_it_runs_the_others_are_told_to_come_back() {
    let stand = Played::of(json!({"key": "required"})).await;
    stand
        .origin
        .play(vec![wait(500), answer("200 OK", "", b"made")]);
    let first = tokio::spawn(charge(&stand.envoy, "k").send());
    eventually(SOON, async || {
        ensure!(stand.origin.count() == 1);
        Ok(())
    })
    .await
    .unwrap();
    for _ in 0..5 {
        is_running(&charge(&stand.envoy, "k").send().await.unwrap());
    }
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.status, 200);
    is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &first);
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a23_a_proxy_on_the_way_that_lost_the_answer_does_not_speak_for_the_origin() {
    let stand = Played::of(json!({"key": "required"})).await;
    let words = "upstream connect error or disconnect/reset before headers. reset reason: ";
    for (n, (reason, status)) in [
        ("connection termination", 409),
        ("remote connection failure", 503),
        ("overflow", 503),
    ]
    .into_iter()
    .enumerate()
    {
        stand.origin.forget();
        let said = format!("{words}{reason}");
        stand
            .origin
            .play(vec![answer("503 Service Unavailable", "", said.as_bytes())]);
        let key = format!("key-{n}");
        let first = charge(&stand.envoy, &key).send().await.unwrap();
        assert_eq!(
            (first.status.as_u16(), first.text()),
            (503, said),
            "{reason}"
        );
        let again = charge(&stand.envoy, &key).send().await.unwrap();
        assert_eq!(again.status, status, "{reason}: {again:?}");
        let runs = if status == 409 { 1 } else { 2 };
        assert_eq!(stand.origin.count(), runs, "{reason}");
    }
}

/// A proxy's word that it lost a call may come compressed; a 503 that says what it is frees the key as ever.
#[tokio::test]
async fn a_compressed_503_may_be_a_proxys() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let busy = || Reply::status(StatusCode::SERVICE_UNAVAILABLE).body("busy");
    stand
        .origin
        .answer(CHARGES, busy().header("content-encoding", "gzip"));
    let first = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(first.status, 503);
    let again = charge(&stand.envoy, "k").send().await.unwrap();
    is_problem(&again, 409, "outcome-unknown");
    assert_eq!(stand.origin.total(), 1);
    stand.origin.answer(CHARGES, busy());
    for _ in 0..2 {
        let told = charge(&stand.envoy, "another").send().await.unwrap();
        assert_eq!(told.text(), "busy");
    }
    assert_eq!(stand.origin.total(), 3);
}
