//! Calls that outlive their clients.

use std::time::Duration;

use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Reload};
use tidegate_e2e::{Answer, Client, Envoy, Reply, eventually, flood};
use tokio::time::{sleep, timeout};

use crate::script::{answer, half, send, wait};
use crate::stand::{BODY, CHARGES, Played, SOON, Stand, charge, policy, settled, with_switches};
use crate::{KEY, is_problem, is_replay, is_replay_of, is_running};

fn rule() -> Value {
    json!({"key": "required", "execution": "detached", "timeout": "3s"})
}

/// Sends a charge, and hangs up after 100 ms.
async fn hang_up(envoy: &Envoy, key: &str) {
    let gave_up = timeout(Duration::from_millis(100), charge(envoy, key).send()).await;
    gave_up.unwrap_err();
}

/// Waits until the charge is answered, which is its stored answer.
async fn replayed(envoy: &Envoy, key: &str) -> Answer {
    let answer = settled(envoy, key).await;
    assert!(is_replay(&answer), "{answer:?}");
    answer
}

#[tokio::test]
async fn a20_a_client_that_hangs_up_loses_nothing() {
    for workers in [1, 2] {
        let stand = Stand::start(&policy(&rule()), |b| b.concurrency(workers)).await;
        let made = Reply::status(StatusCode::CREATED).body("made");
        stand
            .origin
            .answer(CHARGES, made.after(Duration::from_secs(1)));
        hang_up(&stand.envoy, "k").await;
        is_running(&charge(&stand.envoy, "k").send().await.unwrap());
        let answer = replayed(&stand.envoy, "k").await;
        assert_eq!(
            (answer.status.as_u16(), answer.text().as_str()),
            (201, "made")
        );
        assert_eq!(stand.origin.count(CHARGES), 1);
    }
}

#[tokio::test]
async fn a20_nor_where_the_origin_is_slow_to_finish() {
    let stand = Played::of(rule()).await;
    stand.origin.play(vec![half(), wait(700), send("defghij")]);
    hang_up(&stand.envoy, "k").await;
    assert_eq!(replayed(&stand.envoy, "k").await.text(), "abcdefghij");
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn what_the_origin_answers_is_what_the_caller_gets() {
    let stand = Played::of(rule()).await;
    let lines =
        "x-a: 1, 2\r\nx-a: 3\r\nset-cookie: a=b\r\netag: \"e\"\r\nlocation: /v1/charges/1\r\n";
    stand
        .origin
        .play(vec![answer("201 Created", lines, b"made")]);
    let first = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(
        (first.status.as_u16(), first.text().as_str()),
        (201, "made")
    );
    let all = |answer: &Answer, name: &str| -> Vec<String> {
        let lines = answer.headers.get_all(name).iter();
        lines
            .map(|line| line.to_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(all(&first, "x-a"), ["1, 2", "3"]);
    assert_eq!(all(&first, "set-cookie"), ["a=b"]);
    let again = charge(&stand.envoy, "k").send().await.unwrap();
    is_replay_of(&again, &first);
    assert_eq!(all(&again, "x-a"), ["1, 2", "3"]);
    assert_eq!(all(&again, "set-cookie"), [""; 0]);
    assert_eq!(again.header("location"), Some("/v1/charges/1"));
}

#[tokio::test]
async fn what_the_client_sent_is_what_the_origin_gets() {
    let stand = Stand::of(rule()).await;
    let url = stand.envoy.at("/v1/charges?a=1&a=%2F");
    let call = Client::h2().post(url).header("x-account", "amy");
    let call = call.header(KEY, "k").header("x-b", "1").header("x-b", "2");
    let body = "x".repeat(300_000);
    let answer = call.body(body.clone()).send().await.unwrap();
    assert_eq!(answer.status, 200);
    let seen = stand.origin.last(CHARGES).unwrap();
    assert_eq!(
        (seen.path.as_str(), seen.body_len),
        ("/v1/charges?a=1&a=%2F", body.len())
    );
    assert_eq!(seen.headers.get_all("x-b").iter().count(), 2);
    assert_eq!(seen.headers[KEY], "k");
    assert_eq!(stand.origin.count(CHARGES), 1);
}

#[tokio::test]
async fn a15_of_200_at_once_one_runs() {
    for workers in [1, 2, 4] {
        let stand = Stand::start(&policy(&rule()), |b| b.concurrency(workers)).await;
        let reply = Reply::status(StatusCode::CREATED).after(Duration::from_millis(50));
        stand.origin.answer(CHARGES, reply);
        let url = stand.envoy.at(CHARGES);
        let call = move |client: &Client, _| {
            let call = client.post(&url).header("x-account", "amy");
            call.header(KEY, "\"one\"").body(BODY)
        };
        let answers = flood(50, 200, call).await.unwrap();
        let ran = answers.iter().filter(|a| a.status == 201 && !is_replay(a));
        assert_eq!(ran.count(), 1, "{workers} workers");
        assert!(
            answers
                .iter()
                .all(|a| [201, 409].contains(&a.status.as_u16()))
        );
        assert_eq!(stand.origin.count(CHARGES), 1);
    }
}

#[tokio::test]
async fn a17_a23_what_is_not_known_is_held_and_what_was_not_sent_is_free() {
    let stand = Played::start(
        &policy(&json!({
            "key": "required", "execution": "detached", "timeout": "500ms"
        })),
        |b| b,
    )
    .await;
    // No answer in time.
    stand
        .origin
        .play(vec![wait(2_000), answer("200 OK", "", b"late")]);
    is_problem(
        &charge(&stand.envoy, "slow").send().await.unwrap(),
        504,
        "no-answer",
    );
    is_problem(
        &charge(&stand.envoy, "slow").send().await.unwrap(),
        409,
        "outcome-unknown",
    );
    // The connection ends behind the request.
    stand.origin.play(vec![]);
    is_problem(
        &charge(&stand.envoy, "reset").send().await.unwrap(),
        504,
        "no-answer",
    );
    is_problem(
        &charge(&stand.envoy, "reset").send().await.unwrap(),
        409,
        "outcome-unknown",
    );
    // What the origin says is an answer, but for the statuses by which it says that it did not take the request.
    for (status, replays) in [
        ("500 Oops", true),
        ("429 Later", false),
        ("503 Busy", false),
    ] {
        stand.origin.forget();
        stand.origin.play(vec![answer(status, "", b"said")]);
        let first = charge(&stand.envoy, status).send().await.unwrap();
        assert_eq!(first.text(), "said", "{status}");
        let again = charge(&stand.envoy, status).send().await.unwrap();
        assert_eq!(is_replay(&again), replays, "{status}");
        assert_eq!(again.status, first.status);
        assert_eq!(
            stand.origin.count(),
            if replays { 1 } else { 2 },
            "{status}"
        );
    }
}

#[tokio::test]
async fn a21_an_origin_that_is_not_there_frees_the_key() {
    let Stand { envoy, origin } = Stand::of(rule()).await;
    drop(origin);
    for _ in 0..2 {
        is_problem(&charge(&envoy, "k").send().await.unwrap(), 503, "no-answer");
    }
}

#[tokio::test]
async fn a21_many_at_once_are_all_told_that_nobody_is_there() {
    let Stand { envoy, origin } = Stand::of(rule()).await;
    drop(origin);
    let url = envoy.at(CHARGES);
    let call = move |client: &Client, n: usize| {
        let call = client.post(&url).header("x-account", "amy");
        call.header(KEY, format!("\"{n}\"")).body(BODY)
    };
    let answers = flood(50, 200, call).await.unwrap();
    assert!(answers.iter().all(|answer| answer.status == 503));
}

#[tokio::test]
async fn a33_a34_what_is_too_large() {
    let mut rule = rule();
    rule["max_body"] = json!("64KiB");
    let stand = Stand::of(rule).await;
    let large = charge(&stand.envoy, "in").body("x".repeat(65_537));
    is_problem(&large.send().await.unwrap(), 413, "body-too-large");
    assert_eq!(stand.origin.count(CHARGES), 0);
    let reply = Reply::status(StatusCode::OK).body("x".repeat(2_000_000));
    stand.origin.answer(CHARGES, reply);
    let first = charge(&stand.envoy, "out").send().await.unwrap();
    assert_eq!((first.status.as_u16(), first.body.len()), (200, 2_000_000));
    is_problem(
        &charge(&stand.envoy, "out").send().await.unwrap(),
        409,
        "response-not-stored",
    );
    assert_eq!(stand.origin.count(CHARGES), 1);
}

#[tokio::test]
async fn a_header_that_is_not_utf_8_is_sent_byte_for_byte() {
    let stand = Stand::of(rule()).await;
    let odd = charge(&stand.envoy, "k").header("x-name", b"caf\xe9");
    assert_eq!(odd.send().await.unwrap().status, 200);
    let seen = stand.origin.seen(CHARGES);
    assert_eq!(seen[0].headers["x-name"].as_bytes(), b"caf\xe9");
}

#[tokio::test]
async fn a_worker_makes_so_many_calls_at_once_and_refuses_the_rest() {
    let stand = Stand::of(rule()).await;
    let reply = Reply::status(StatusCode::OK).after(Duration::from_millis(1_500));
    stand.origin.answer(CHARGES, reply);
    let url = stand.envoy.at(CHARGES);
    let call = move |client: &Client, n: usize| {
        let call = client.post(&url).header("x-account", "amy");
        call.header(KEY, format!("\"{n}\"")).body(BODY)
    };
    let answers = flood(300, 300, call).await.unwrap();
    let of = |status: u16| answers.iter().filter(|a| a.status == status).count();
    assert_eq!((of(200), of(503)), (256, 44));
    let busy = answers.iter().find(|a| a.status == 503).unwrap();
    assert_eq!(busy.retry_after(), Some(1));
    assert_eq!(stand.origin.count(CHARGES), 256);
    let Stand { envoy, .. } = &stand;
    assert_eq!(envoy.decisions("none", "allowed").await.unwrap(), 256);
    let refused = envoy.decisions("store-unavailable", "refused").await;
    assert_eq!(refused.unwrap(), 44);
}

#[tokio::test]
async fn a_call_passes_through_the_role_origin_in_the_same_vm() {
    let stand = Stand::start(&policy(&rule()), |b| b.origin_role().one_vm()).await;
    for key in ["one", "two"] {
        let made = timeout(SOON, charge(&stand.envoy, key).send()).await;
        let made = made.unwrap().unwrap();
        assert_eq!(made.status, 200);
        is_replay_of(&charge(&stand.envoy, key).send().await.unwrap(), &made);
    }
    assert_eq!(stand.origin.count(CHARGES), 2);
    assert_eq!(stand.envoy.vms().await.unwrap().reloads, 0);
}

#[tokio::test]
async fn a_new_policy_in_the_middle_of_a_call_wedges_nothing() {
    let mut rules = policy(&json!({
        "key": "required", "execution": "detached", "timeout": "2s", "lease": "3s", "unknown": "retry"
    }));
    let stand = Stand::start(&rules, Builder::ecds).await;
    let reply = Reply::status(StatusCode::OK).after(Duration::from_millis(800));
    stand.origin.answer(CHARGES, reply);
    hang_up(&stand.envoy, "k").await;
    rules["version"] = json!("2");
    assert_eq!(
        stand.envoy.update_policy(&rules).await.unwrap(),
        Reload::Accepted
    );
    let answer = eventually(SOON, async || {
        let answer = charge(&stand.envoy, "k").send().await?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(answer)
    });
    answer.await.unwrap();
    assert!(stand.origin.count(CHARGES) <= 2);
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_wedges_nothing() {
    let rules = policy(&json!({
        "key": "required", "execution": "detached", "timeout": "1s", "lease": "2s", "unknown": "retry"
    }));
    let stand = Stand::start(&rules, with_switches).await;
    let reply = Reply::status(StatusCode::OK).after(Duration::from_millis(500));
    stand.origin.answer(CHARGES, reply);
    hang_up(&stand.envoy, "k").await;
    let trap = Client::h1()
        .get(stand.envoy.at("/"))
        .header("x-test-trap", "1");
    let _crashed = trap.send().await;
    sleep(Duration::from_millis(100)).await;
    let answer = eventually(SOON, async || {
        let answer = charge(&stand.envoy, "k").send().await?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(answer)
    });
    answer.await.unwrap();
    assert_eq!(stand.origin.count(CHARGES), 2);
}
