//! Many at once.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Client, Reply, flood};

use crate::stand::{BODY, CHARGES, Stand, charge, policy};
use crate::{KEY, is_replay, is_replay_of, is_running};

/// How many connections there are, which is more than enough for each worker to have some.
const CONNECTIONS: usize = 50;

#[tokio::test]
async fn a15_a16_of_200_charges_at_once_one_runs() {
    let mut rules = policy(&json!({"key": "required"}));
    // Here the head alone tells which request it is, so it is claimed once and for all when that has come.
    let head = json!({
        "name": "head", "match": {"methods": ["POST"], "path": "/head"},
        "idempotency": {"key": "required", "fingerprint": "key-only"},
    });
    rules["routes"].as_array_mut().unwrap().push(head);
    for workers in [1, 2, 4] {
        let stand = Stand::start(&rules, |b| b.concurrency(workers)).await;
        let reply = Reply::status(StatusCode::CREATED).after(Duration::from_millis(50));
        for (path, body) in [(CHARGES, BODY), ("/v1/empty", ""), ("/head", BODY)] {
            stand.origin.answer(path, reply.clone());
            let url = stand.envoy.at(path);
            let call = move |client: &Client, _| {
                let call = client.post(&url).header("x-account", "amy");
                call.header(KEY, "\"one\"").body(body)
            };
            let answers = flood(CONNECTIONS, 200, call).await.unwrap();
            let (first, others): (Vec<_>, Vec<_>) = answers
                .iter()
                .partition(|answer| answer.status == 201 && !is_replay(answer));
            let what = format!("{workers} workers, {path}");
            assert_eq!(first.len(), 1, "{what}");
            assert_eq!(stand.origin.count(path), 1, "{what}");
            assert_eq!(others.len(), 199);
            let mut running = 0;
            for other in others {
                if other.status == 409 {
                    is_running(other);
                    running += 1;
                } else {
                    is_replay_of(other, first[0]);
                }
            }
            assert!(running > 0, "{what}: all came when it was done");
        }
    }
}

#[tokio::test]
async fn a15_a_thousand_keys_at_once_run_once_each() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| b.concurrency(2)).await;
    let url = stand.envoy.at(CHARGES);
    let call = move |client: &Client, n: usize| {
        let call = client.post(&url).header("x-account", "amy");
        // Each of them twice, mostly through different workers at the same time.
        call.header(KEY, format!("\"key-{}\"", n / 2)).body(BODY)
    };
    let answers = flood(CONNECTIONS, 2_000, call).await.unwrap();
    for pair in answers.chunks(2) {
        let run = |answer: &&_| !is_replay(answer);
        let first = pair.iter().filter(run).find(|answer| answer.status == 200);
        let first = first.unwrap_or_else(|| panic!("none ran: {pair:?}"));
        for other in pair.iter().filter(|other| !std::ptr::eq(*other, first)) {
            if other.status == 409 {
                is_running(other);
            } else {
                is_replay_of(other, first);
            }
        }
    }
    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for seen in stand.origin.seen(CHARGES) {
        let key = seen.headers[KEY].to_str().unwrap().to_owned();
        *runs.entry(key).or_default() += 1;
    }
    assert_eq!(runs.len(), 1_000);
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
}

#[tokio::test]
async fn a16_who_loses_gets_the_stored_answer_on_every_worker() {
    let stand = Stand::start(&policy(&json!({"key": "required"})), |b| b.concurrency(4)).await;
    let first = charge(&stand.envoy, "one").send().await.unwrap();
    assert_eq!(first.status, 200);
    let url = stand.envoy.at(CHARGES);
    let call = move |client: &Client, _| {
        let call = client.post(&url).header("x-account", "amy");
        let call = call.header("content-type", "application/json");
        call.header(KEY, "\"one\"").body(BODY)
    };
    for answer in flood(CONNECTIONS, 200, call).await.unwrap() {
        is_replay_of(&answer, &first);
    }
    assert_eq!(stand.origin.total(), 1);
}
