//! What time does to records. The module's clock is moved; nobody waits for a day.

use anyhow::ensure;
use serde_json::json;
use tidegate_e2e::eventually;

use crate::script::{Step, answer, wait};
use crate::stand::{Played, SOON, Stand, ahead, charge, policy, with_switches};
use crate::{is_problem, is_replay, is_replay_of, is_running};

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;

#[tokio::test]
async fn a39_a_record_ends_when_the_policy_says_and_not_before() {
    let rule = policy(&json!({"key": "required", "ttl": "24h"}));
    let stand = Stand::start(&rule, |b| with_switches(b).concurrency(2)).await;
    let first = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(first.status, 200);
    for hours in [1, 12, 23] {
        ahead(&stand.envoy, hours * HOUR).await;
        is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &first);
    }
    // Who asks does not make it live longer.
    ahead(&stand.envoy, 25 * HOUR).await;
    let second = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(second.status, 200);
    assert!(!is_replay(&second), "{second:?}");
    ahead(&stand.envoy, 47 * HOUR).await;
    is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &second);
    // Another request may have the key then.
    ahead(&stand.envoy, 50 * HOUR).await;
    let other = charge(&stand.envoy, "k")
        .body("other")
        .send()
        .await
        .unwrap();
    assert_eq!(other.status, 200);
    assert_eq!(stand.origin.total() - stand.origin.count("/ahead"), 3);
}

/// A charge that is with the origin, of a stand whose origin answers after so many milliseconds.
async fn begin(
    stand: &Played,
    steps: Vec<Step>,
) -> tokio::task::JoinHandle<anyhow::Result<tidegate_e2e::Answer>> {
    let before = stand.origin.count();
    stand.origin.then(steps);
    let call = tokio::spawn(charge(&stand.envoy, "k").send());
    eventually(SOON, async || {
        ensure!(stand.origin.count() == before + 1);
        Ok(())
    })
    .await
    .unwrap();
    call
}

#[tokio::test]
async fn a17_after_the_lease_nobody_is_told_that_it_runs() {
    let rule = policy(&json!({"key": "required", "lease": "60s"}));
    let stand = Played::start(&rule, with_switches).await;
    let first = begin(&stand, vec![wait(1_500), answer("200 OK", "", b"late")]).await;
    is_running(&charge(&stand.envoy, "k").send().await.unwrap());
    ahead(&stand.envoy, 50 * SECOND).await;
    is_running(&charge(&stand.envoy, "k").send().await.unwrap());
    ahead(&stand.envoy, 61 * SECOND).await;
    let held = charge(&stand.envoy, "k").send().await.unwrap();
    is_problem(&held, 409, "outcome-unknown");
    // A late answer is an answer.
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.text(), "late");
    is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &first);
}

#[tokio::test]
async fn a18_a19_who_comes_after_the_lease_is_not_overwritten_by_who_was_late() {
    let rule = policy(&json!({"key": "required", "unknown": "retry", "lease": "60s"}));
    for status in ["200 OK", "503 Service Unavailable"] {
        let stand = Played::start(&rule, |b| with_switches(b).concurrency(2)).await;
        let late = vec![wait(1_500), answer(status, "", b"late")];
        let first = begin(&stand, late).await;
        is_running(&charge(&stand.envoy, "k").send().await.unwrap());
        ahead(&stand.envoy, 61 * SECOND).await;
        stand
            .origin
            .then(vec![answer("201 Created", "", b"second")]);
        let second = charge(&stand.envoy, "k").send().await.unwrap();
        assert_eq!(second.text(), "second", "{second:?}");
        assert_eq!(first.await.unwrap().unwrap().text(), "late");
        for _ in 0..3 {
            is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &second);
        }
    }
}

#[tokio::test]
async fn a39_records_that_are_over_make_room() {
    let mut rule = policy(&json!({"key": "required", "ttl": "1h"}));
    rule["capacity"] = json!({"records": 8});
    let stand = Stand::start(&rule, with_switches).await;
    for round in 0..3 {
        ahead(&stand.envoy, round * 2 * HOUR).await;
        for n in 0..8 {
            let answer = charge(&stand.envoy, &format!("{round}-{n}"))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status, 200, "{round}-{n}: {answer:?}");
        }
        let full = charge(&stand.envoy, &format!("{round}-8"))
            .send()
            .await
            .unwrap();
        assert_eq!(full.status, 503, "{full:?}");
    }
}

#[tokio::test]
async fn a39_answers_that_are_over_make_room() {
    let mut rule = policy(&json!({"key": "required", "ttl": "1h"}));
    // 32 sets, of which a newcomer finds that of its own key alone: what lies elsewhere is swept in the background.
    rule["capacity"] = json!({"records": 1_024, "bytes": "64KiB"});
    let stand = Played::start(&rule, |b| with_switches(b).concurrency(2)).await;
    stand
        .origin
        .play(vec![answer("200 OK", "", &[b'x'; 10_000])]);
    let mut stored = 0;
    for n in 0..10 {
        let answer = charge(&stand.envoy, &format!("old-{n}"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let again = charge(&stand.envoy, &format!("old-{n}"))
            .send()
            .await
            .unwrap();
        stored += usize::from(is_replay(&again));
    }
    assert_eq!(stored, 6, "of 64 KiB");
    ahead(&stand.envoy, 2 * HOUR).await;
    let mut n = 0;
    eventually(SOON, async || {
        n += 1;
        let key = format!("new-{n}");
        let answer = charge(&stand.envoy, &key).send().await?;
        ensure!(answer.status == 200, "{answer:?}");
        let again = charge(&stand.envoy, &key).send().await?;
        ensure!(is_replay(&again), "{again:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a21_a22_our_own_429_is_not_stored() {
    let mut rule = policy(&json!({"key": "required"}));
    rule["limits"] = json!({"account": {"per": ["account"], "rate": "1/min", "burst": 1}});
    rule["routes"][0]["limits"] = json!(["account"]);
    let stand = Stand::start(&rule, with_switches).await;
    assert_eq!(charge(&stand.envoy, "1").send().await.unwrap().status, 200);
    assert_eq!(charge(&stand.envoy, "2").send().await.unwrap().status, 429);
    ahead(&stand.envoy, 61 * SECOND).await;
    let made = charge(&stand.envoy, "2").send().await.unwrap();
    assert_eq!(made.status, 200, "{made:?}");
    is_replay_of(&charge(&stand.envoy, "2").send().await.unwrap(), &made);
}

#[tokio::test]
async fn a10_a17_what_is_unknown_is_still_one_requests() {
    for unknown in ["hold", "retry"] {
        let rule = policy(&json!({"key": "required", "unknown": unknown, "lease": "60s"}));
        let stand = Played::start(&rule, with_switches).await;
        stand.origin.then(vec![Step::Reset]);
        assert_eq!(charge(&stand.envoy, "k").send().await.unwrap().status, 503);
        let other = async || {
            let other = charge(&stand.envoy, "k").body("other").send().await;
            is_problem(&other.unwrap(), 422, "idempotency-key-reused");
        };
        other().await;
        ahead(&stand.envoy, 61 * SECOND).await;
        other().await;
        stand.origin.forget();
        let again = || charge(&stand.envoy, "k").send();
        if unknown == "hold" {
            is_problem(&again().await.unwrap(), 409, "outcome-unknown");
            assert_eq!(stand.origin.count(), 0);
            continue;
        }
        // The origin does not take it now, which says nothing about the first time.
        stand
            .origin
            .then(vec![answer("503 Service Unavailable", "", b"")]);
        assert_eq!(again().await.unwrap().status, 503);
        other().await;
        stand.origin.then(vec![answer("200 OK", "", b"made")]);
        let made = again().await.unwrap();
        assert_eq!(made.text(), "made");
        is_replay_of(&again().await.unwrap(), &made);
        assert_eq!(stand.origin.count(), 2);
    }
}
