//! A store without room.

use serde_json::{Value, json};
use tidegate_e2e::{Envoy, RawOrigin};

use crate::flood::flood;
use crate::script::answer;
use crate::stand::{Played, Stand, charge, policy};
use crate::{is_problem, is_replay, is_replay_of};

/// The default policy with this much room.
fn small(capacity: Value, full: Option<&str>) -> Value {
    let mut policy = policy(&json!({"key": "required"}));
    policy["capacity"] = capacity;
    if let Some(rule) = full {
        policy["store_full"] = json!(rule);
    }
    policy
}

#[tokio::test]
async fn a40_b18_a_full_store_refuses_or_passes_as_the_policy_says_and_counts() {
    for rule in [None, Some("pass")] {
        let policy = small(json!({"records": 8}), rule);
        let stand = Stand::start(&policy, |b| b.concurrency(2)).await;
        let mut first = Vec::new();
        for n in 0..8 {
            let answer = charge(&stand.envoy, &n.to_string()).send().await.unwrap();
            assert_eq!(answer.status, 200, "{n}: {answer:?}");
            first.push(answer);
        }
        assert_eq!(stand.envoy.counter("tidegate_store_full").await.unwrap(), 0);
        for _ in 0..2 {
            let more = charge(&stand.envoy, "more").send().await.unwrap();
            assert!(!is_replay(&more));
            if rule == Some("pass") {
                assert_eq!(more.status, 200, "{more:?}");
            } else {
                assert_eq!(more.status, 503, "{more:?}");
                let kind =
                    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
                assert_eq!(more.problem().unwrap()["type"], kind);
                assert!(more.retry_after() >= Some(1), "{more:?}");
            }
        }
        assert_eq!(stand.envoy.counter("tidegate_store_full").await.unwrap(), 2);
        let ran = if rule == Some("pass") { 10 } else { 8 };
        assert_eq!(stand.origin.total(), ran);
        // No live record made room.
        for (n, first) in first.iter().enumerate() {
            let again = charge(&stand.envoy, &n.to_string()).send().await.unwrap();
            is_replay_of(&again, first);
        }
        assert_eq!(stand.origin.total(), ran);
    }
}

#[tokio::test]
async fn a33_an_answer_for_which_there_is_no_room_is_not_stored() {
    let policy = small(json!({"bytes": "16KiB"}), None);
    let stand = Played::start(&policy, |b| b).await;
    stand
        .origin
        .play(vec![answer("200 OK", "", &[b'x'; 10_000])]);
    let first = charge(&stand.envoy, "1").send().await.unwrap();
    is_replay_of(&charge(&stand.envoy, "1").send().await.unwrap(), &first);
    let second = charge(&stand.envoy, "2").send().await.unwrap();
    assert_eq!(second.body.len(), 10_000);
    is_problem(
        &charge(&stand.envoy, "2").send().await.unwrap(),
        409,
        "response-not-stored",
    );
    is_replay_of(&charge(&stand.envoy, "1").send().await.unwrap(), &first);
    assert_eq!(stand.origin.count(), 2);
}

/// How many records there is room for.
const ROOM: u64 = 1_024;

/// How many keys come.
const KEYS: usize = 100_000;

/// The answer to each, in bytes.
const ANSWER: usize = 500;

/// What Envoy needs beside a value of shared data, and what a stored answer has beside its body.
const OVERHEAD: u64 = 500;

/// What else may come and go in its heap.
const SLACK: u64 = 2 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_keys_take_no_more_than_the_policys_room() {
    let mut policy = small(json!({"records": ROOM}), Some("pass"));
    policy["routes"][0]["idempotency"] = json!({"key": "required", "ttl": "1s", "lease": "1s"});
    let origin = RawOrigin::start().await.unwrap();
    origin.answer(200, &[], vec![b'x'; ANSWER]);
    let builder = Envoy::builder().policy(&policy).origin_at(origin.address());
    let builder = builder.h1_to_origin().concurrency(2).without_access_log();
    let envoy = builder.start().await.unwrap();
    flood(&envoy, 0..2_000).await;
    let before = envoy.heap_bytes().await.unwrap();
    let statuses = flood(&envoy, 2_000..2_000 + KEYS).await;
    let after = envoy.heap_bytes().await.unwrap();
    assert_eq!(statuses, [(200, KEYS)].into());
    let bound = ROOM * (u64::try_from(ANSWER).unwrap() + OVERHEAD) + SLACK;
    assert!(
        after.saturating_sub(before) <= bound,
        "from {before} to {after} bytes, more than {bound}"
    );
    // Some found no room, and more than there is room for at any time had some after others.
    let full = envoy.counter("tidegate_store_full").await.unwrap();
    let recorded = u64::try_from(KEYS).unwrap() - full;
    assert!(full > 0, "there was room for all");
    assert!(recorded > 2 * ROOM, "{recorded} were recorded");
}
