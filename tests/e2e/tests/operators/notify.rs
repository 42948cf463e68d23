//! Events to the outside.

use std::time::Duration;

use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::{Client, Envoy, Origin, Reply, eventually, flood, repo};

use crate::python::{python, say};
use crate::{SOON, logged, policy};

const HOOK: &str = "/hooks/tidegate";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn notifying(after: &str, quiet: &str) -> Value {
    let mut policy = policy(1);
    policy["notify"] = json!({
        "cluster": "alerts", "path": HOOK, "host": "alerts.test", "key_env": "NOTIFY_KEY",
        "after": after, "quiet": quiet, "backoff": "100ms", "timeout": "1s",
        "docs": "https://docs.test/refused",
    });
    policy
}

fn with(policy: &Value, receiver: &Origin) -> Builder {
    let envoy = Envoy::builder().concurrency(2).policy(policy);
    envoy
        .environment("NOTIFY_KEY", SECRET)
        .receiver("alerts", receiver.address())
}

async fn receiver(status: u16) -> Origin {
    let receiver = Origin::start().await.unwrap();
    receiver.answer(HOOK, Reply::status(StatusCode::from_u16(status).unwrap()));
    receiver
}

/// The bodies that the receiver got, with the id of each.
fn events(receiver: &Origin) -> Vec<(String, Value)> {
    let seen = receiver.seen(HOOK).into_iter();
    seen.map(|seen| {
        let id = seen.headers["webhook-id"].to_str().unwrap().to_owned();
        (id, serde_json::from_slice(&seen.body).unwrap())
    })
    .collect()
}

/// Sends so many requests of one source over both workers; how many were refused.
async fn refused(envoy: &Envoy, requests: usize) -> u64 {
    let url = envoy.at("/");
    let answers = flood(8, requests, move |client: &Client, _| {
        client.get(&url).header("x-api-key", "sk_live_loud")
    });
    let answers = answers.await.unwrap();
    answers.iter().filter(|answer| answer.status == 429).count() as u64
}

async fn ahead(envoy: &Envoy, seconds: u64) {
    let call = Client::h1().get(envoy.at("/ahead"));
    // Each time another caller, who is not refused.
    let call = call.header("x-api-key", format!("clock-{seconds}"));
    let call = call.header("x-test-ahead-ms", (seconds * 1000).to_string());
    assert_eq!(call.send().await.unwrap().status, 200);
}

/// Ten minutes of a flood, the clock of which is set ahead twenty seconds at a time. Workers tell each other once a second of the
/// real clock, in which minutes pass here: so it is over only after ten.
#[tokio::test]
async fn a_flood_is_one_event_and_its_end_another_though_the_receiver_fails_at_first() {
    let origin = Origin::start().await.unwrap();
    let receiver = receiver(500).await;
    let envoy = with(&notifying("2min", "10min"), &receiver);
    let envoy = envoy
        .module(repo().join("dist/tidegate-test.wasm"))
        .admin_role("127.0.0.1");
    let envoy = envoy.origin(&origin).start().await.unwrap();
    let mut count = 0;
    for step in 0..30 {
        ahead(&envoy, 20 * step).await;
        count += refused(&envoy, 100).await;
        if step >= 6 {
            // Once a second somebody looks.
            eventually(SOON, async || {
                ensure!(receiver.count(HOOK) >= 1, "nothing was sent");
                Ok(())
            })
            .await
            .unwrap();
            receiver.answer(HOOK, Reply::status(StatusCode::NO_CONTENT));
        }
    }
    let told = |wanted: &'static str| {
        let receiver = &receiver;
        eventually(SOON, async move || {
            let events = events(receiver);
            let last = events.last().map(|(_, event)| event["type"].clone());
            ensure!(last == Some(json!(wanted)), "{events:?}");
            ensure!(events.iter().filter(|(_, e)| e["type"] == wanted).count() >= 1);
            Ok(events)
        })
    };
    told("tidegate.refusals.started").await.unwrap();
    // The last ones have to be known before the clock goes on.
    eventually(SOON, async || {
        let known = Client::h1().get(envoy.live("/limits")).send().await?;
        let known = known.json()?["scopes"][0]["refused"].clone();
        ensure!(known == count, "{known} of {count} are known");
        Ok(())
    })
    .await
    .unwrap();
    ahead(&envoy, 20 * 29 + 700).await;
    let events = told("tidegate.refusals.over").await.unwrap();
    let (started, over): (Vec<_>, Vec<_>) = events
        .into_iter()
        .partition(|(_, event)| event["type"] == "tidegate.refusals.started");
    // The first attempt failed; each attempt has the same id, so a receiver takes it for one.
    assert!(started.len() >= 2, "{started:?}");
    assert!(
        started.iter().all(|(id, _)| *id == started[0].0),
        "{started:?}"
    );
    assert_eq!(over.len(), 1, "{over:?}");
    let (_, event) = &over[0];
    assert_eq!(event["data"]["count"], count);
    assert_eq!(event["data"]["rule"], "daily");
    assert_eq!(event["data"]["docs"], "https://docs.test/refused");
    assert_eq!(event["data"]["bucket"]["rate"], "1/day");
    assert_eq!(event["data"]["bucket"]["level"], 0);
    assert!(!event.to_string().contains("sk_live"));
    let sent = envoy
        .sample("tidegate_notify_sent", &[("policy", "seen")])
        .await
        .unwrap();
    assert_eq!(sent, Some(2.0));
    // The line of the log has the same scope.
    let lines = logged(&envoy, "tidegate.refused");
    assert_eq!(lines[0]["scope"], event["data"]["scope"]);
    // Standard Webhooks' own library takes it.
    let Some(python) = python() else { return };
    let seen = receiver.last(HOOK).unwrap();
    let headers: serde_json::Map<String, Value> = seen
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
        .collect();
    let body = String::from_utf8(seen.body).unwrap();
    let headers = Value::Object(headers).to_string();
    let said = say(python, "sign.py", &[SECRET, "--verify", &headers, &body]).await;
    assert_eq!(said.trim(), "verified");
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_given_up_and_no_request_waits_for_it() {
    let origin = Origin::start().await.unwrap();
    let receiver = receiver(503).await;
    let mut policy = notifying("1s", "30s");
    policy["notify"]["backoff"] = json!("1ms");
    let envoy = with(&policy, &receiver)
        .origin(&origin)
        .start()
        .await
        .unwrap();
    eventually(Duration::from_secs(60), async || {
        refused(&envoy, 16).await;
        let given_up = envoy.sample("tidegate_notify_given_up", &[("policy", "seen")]);
        let given_up = given_up.await?;
        ensure!(given_up == Some(1.0), "{given_up:?}");
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(receiver.count(HOOK), 6);
    eventually(SOON, async || {
        let said = "is given up after 6 attempts; look at cluster `alerts`";
        ensure!(envoy.log().contains(said), "not logged");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn without_a_secret_to_sign_with_the_mount_refuses_to_start() {
    let receiver = receiver(204).await;
    for secret in ["", "whsec_short", "plain text of many many bytes"] {
        let envoy = with(&notifying("1s", "1s"), &receiver).environment("NOTIFY_KEY", secret);
        let refusal = envoy.try_start().await.unwrap().unwrap_err();
        let wanted = "`$.notify.key_env`: the environment of the VM has no secret of Standard Webhooks in `NOTIFY_KEY`";
        assert!(refusal.log.contains(wanted), "{refusal}");
        assert!(secret.is_empty() || !refusal.log.contains(secret));
    }
}
