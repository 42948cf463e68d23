//! As a canary: enforced for the same callers each time, and the others are touched by the policy in force alone.

use anyhow::ensure;
use serde_json::{Value, json};
use tidegate_e2e::envoy::Reload;
use tidegate_e2e::{Answer, Client, Envoy, Origin, eventually, structured};

use crate::{SOON, disagrees, policy};

/// A policy that refuses everyone at the second request, for this share.
fn canary(percent: u64, more: &Value) -> Value {
    let mut policy = policy("2", 1, more);
    policy["canary"] = json!({"percent": percent});
    policy
}

async fn statuses(envoy: &Envoy, account: &str) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..3 {
        // On a connection of its own, so that any worker may answer.
        let call = Client::h1().get(envoy.at("/")).header("x-account", account);
        statuses.push(call.send().await.unwrap().status.as_u16());
    }
    statuses
}

const REFUSED: [u16; 3] = [200, 429, 429];
const ADMITTED: [u16; 3] = [200; 3];

#[tokio::test]
async fn the_share_is_refused_and_nobody_else_on_every_worker() {
    let origin = Origin::start().await.unwrap();
    let start = async |canary: &Value, beside: bool| {
        let builder = Envoy::builder().concurrency(2).origin(&origin);
        let builder = if beside {
            builder
                .policy(&policy("1", 9, &json!({})))
                .candidate(canary)
        } else {
            builder.policy(canary)
        };
        builder.start().await.unwrap()
    };
    let mut shares = Vec::new();
    for (percent, beside) in [(30, false), (30, true), (60, true)] {
        let envoy = start(&canary(percent, &json!({})), beside).await;
        let mut inside = Vec::new();
        for n in 0..60 {
            let statuses = statuses(&envoy, &format!("account-{n}")).await;
            if statuses == REFUSED {
                inside.push(n);
            } else {
                assert_eq!(statuses, ADMITTED, "account-{n}");
            }
        }
        let count = u64::try_from(inside.len()).unwrap();
        let outside = 60 - count;
        let decided = async |rule, outcome| envoy.decisions(rule, outcome).await.unwrap();
        assert_eq!(decided("account", "canary-refused").await, 2 * count);
        assert_eq!(decided("none", "canary-allowed").await, count);
        assert_eq!(decided("account", "refused").await, 0);
        assert_eq!(decided("account", "shadow-refused").await, 2 * outside);
        if beside {
            // For those outside it is compared with the policy in force.
            disagrees(&envoy, &[("account", "stricter", 2 * outside)]).await;
        }
        shares.push(inside);
    }
    let [alone, beside, larger] = shares.try_into().unwrap();
    assert!((6..30).contains(&alone.len()), "{alone:?}");
    assert_eq!(alone, beside);
    assert!(beside.iter().all(|n| larger.contains(n)) && larger.len() > beside.len());
}

#[tokio::test]
async fn the_policy_in_force_goes_on_protecting_everybody() {
    let origin = Origin::start().await.unwrap();
    let builder = Envoy::builder().concurrency(2).origin(&origin);
    let mut generous = canary(50, &json!({}));
    generous["limits"]["account"]["burst"] = json!(1_000);
    let envoy = builder
        .policy(&policy("1", 1, &json!({})))
        .candidate(&generous);
    let envoy = envoy.start().await.unwrap();
    for n in 0..20 {
        assert_eq!(statuses(&envoy, &format!("account-{n}")).await, REFUSED);
    }
}

#[tokio::test]
async fn the_share_is_told_once_of_each_limit_and_of_the_nearer_one() {
    let legacy = json!({"legacy_headers": true});
    let origin = Origin::start().await.unwrap();
    for (theirs, ours) in [(3, 5), (5, 3)] {
        let mut candidate = canary(100, &legacy);
        candidate["limits"]["account"]["burst"] = json!(ours);
        let builder = Envoy::builder().origin(&origin);
        let builder = builder.policy(&policy("1", theirs, &legacy));
        let envoy = builder.candidate(&candidate).start().await.unwrap();
        for left in [2, 1, 0, 0, 0] {
            let call = Client::h1().get(envoy.at("/")).header("x-account", "amy");
            let own = r#"[["ratelimit", "\"origin\";r=1"], ["age", "1"]]"#;
            let call = call.header("x-origin-respond-headers", own);
            let answer = call.send().await.unwrap();
            for name in [
                "ratelimit",
                "ratelimit-policy",
                "x-ratelimit-limit",
                "x-ratelimit-remaining",
                "x-ratelimit-reset",
            ] {
                let lines = answer.headers.get_all(name).iter().count();
                assert_eq!(lines, 1, "{name}: {answer:?}");
            }
            let said = structured::remaining(&answer.headers).unwrap();
            assert_eq!(said, [("account".to_owned(), left)], "{answer:?}");
            let limits = structured::list(&answer.headers, "ratelimit-policy").unwrap();
            let bursts: Vec<_> = limits.iter().map(|limit| limit.integer("q")).collect();
            assert_eq!(bursts, [Some(3)], "{answer:?}");
            let told = answer.header("x-ratelimit-remaining");
            assert_eq!(told, Some(left.to_string().as_str()));
        }
    }
}

/// Charges run once, called `like` this.
fn charges(like: &str) -> Value {
    json!({"routes": [{"name": "charges", "match": {"methods": ["POST"]},
        "idempotency": {"key": "required", "execution": like}}]})
}

/// A charge under the same key each time, on a connection of its own.
async fn charge(envoy: &Envoy, account: &str, body: &str) -> Answer {
    let call = Client::h1().call(http::Method::POST, envoy.at("/charges"));
    let call = call
        .header("x-account", account)
        .header("idempotency-key", "k");
    call.body(body.to_owned()).send().await.unwrap()
}

#[track_caller]
fn is_answered(answer: &Answer, replayed: bool, of: &str) {
    assert_eq!(answer.status, 200, "{of}: {answer:?}");
    let told = answer.header("idempotent-replayed");
    assert_eq!(told, replayed.then_some("true"), "{of}");
}

/// A candidate that can be shipped anew, before a policy in force; both run charges once.
async fn beside(like: &str, percent: u64) -> (Envoy, Origin) {
    let origin = Origin::start().await.unwrap();
    let envoy = Envoy::builder()
        .concurrency(2)
        .origin(&origin)
        .ecds()
        .policy(&candidate(like, percent))
        .in_force_behind(&policy("1", 9, &charges(like)));
    (envoy.start().await.unwrap(), origin)
}

fn candidate(like: &str, percent: u64) -> Value {
    let mut canary = canary(percent, &charges(like));
    canary["limits"]["account"]["burst"] = json!(9);
    canary["version"] = json!(percent.to_string());
    canary
}

/// Ships another share, and waits until every VM enforces it.
async fn share(envoy: &Envoy, like: &str, percent: u64) {
    let reload = envoy.update_policy(&candidate(like, percent)).await;
    assert_eq!(reload.unwrap(), Reload::Accepted);
    let percent = percent.to_string();
    let labels = [("version", percent.as_str()), ("enforced", &percent)];
    eventually(SOON, async || {
        let run = envoy.sample("tidegate_workers", &labels).await?;
        ensure!(run == Some(3.0), "{run:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_key_that_was_used_before_the_canary_is_replayed_to_both_shares() {
    let (envoy, origin) = beside("inline", 50).await;
    for n in 0..20 {
        let account = format!("account-{n}");
        for attempt in 1..=3 {
            let answer = charge(&envoy, &account, "{}").await;
            let of = format!("{account}, attempt {attempt}");
            is_answered(&answer, attempt > 1, &of);
        }
    }
    assert_eq!(origin.total(), 20);
}

/// Who was outside the share when a key was used, and is inside when it comes again, is answered by the gate in force.
#[tokio::test]
async fn a_key_that_was_used_outside_the_share_is_replayed_when_the_share_has_grown() {
    for like in ["inline", "detached"] {
        let (envoy, origin) = beside(like, 50).await;
        let accounts: Vec<_> = (0..12).map(|n| format!("account-{n}")).collect();
        for account in &accounts {
            is_answered(&charge(&envoy, account, "{}").await, false, account);
        }
        share(&envoy, like, 100).await;
        for account in &accounts {
            for _ in 0..2 {
                is_answered(&charge(&envoy, account, "{}").await, true, account);
            }
            let other = charge(&envoy, account, "other").await;
            assert_eq!(other.status, 422, "{other:?}");
        }
        assert_eq!(origin.total(), 12);
    }
}

/// What runs detached is made by the gate in force, which therefore knows of it when the candidate is gone.
#[tokio::test]
async fn what_the_share_runs_detached_is_known_to_the_gate_in_force() {
    let (envoy, origin) = beside("detached", 100).await;
    is_answered(&charge(&envoy, "amy", "{}").await, false, "first");
    is_answered(&charge(&envoy, "amy", "{}").await, true, "again");
    share(&envoy, "detached", 0).await;
    for account in ["amy", "ben"] {
        let first = charge(&envoy, account, "{}").await;
        is_answered(&first, account == "amy", account);
        is_answered(&charge(&envoy, account, "{}").await, true, account);
    }
    assert_eq!(origin.total(), 2);
}
