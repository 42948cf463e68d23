//! Records of what was done.

use std::time::Duration;

use serde_json::Value;
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply};

use super::{SECRET, post, shown, start};

async fn charge(envoy: &Envoy, key: &str) -> Answer {
    let call = Client::h1()
        .post(envoy.at("/charges"))
        .header("x-api-key", SECRET);
    let call = call
        .header("idempotency-key", key)
        .header("host", "api.example");
    call.body("{}").send().await.unwrap()
}

fn query(key: &str) -> String {
    format!("method=POST&path=/charges&host=api.example&account={SECRET}&key={key}")
}

/// How often the origin was asked.
fn runs(origin: &Origin) -> u64 {
    origin.count("/charges")
}

#[tokio::test]
async fn a_record_is_shown_without_its_answer_and_released() {
    let (envoy, origin) = start(2).await;
    origin.answer(
        "/charges",
        Reply::status(http::StatusCode::CREATED).body("charged s3cr3t"),
    );
    assert_eq!(charge(&envoy, "k-1").await.status, 201);
    let found = shown(&envoy, &format!("/records?{}", query("k-1"))).await;
    let record = &found["records"][0];
    assert_eq!(
        (&record["state"], &record["answer"]["status"]),
        (&Value::from("done"), &Value::from(201)),
        "{found:#}"
    );
    assert_eq!(
        (&record["answer"]["length"], &record["fingerprint"]),
        (&Value::from(14), &Value::from(true))
    );
    assert!(
        !found.to_string().contains("s3cr3t") && !found.to_string().contains("k-1"),
        "{found}"
    );
    let id = record["id"].as_str().unwrap().to_owned();
    assert_eq!(
        shown(&envoy, &format!("/records?id={id}")).await["records"][0]["id"],
        id.as_str()
    );
    let none = shown(&envoy, &format!("/records?{}", query("k-2"))).await;
    assert!(
        none["note"].as_str().unwrap().contains("no record"),
        "{none}"
    );

    // A replay does not reach the origin; after the release one request does.
    assert_eq!(
        charge(&envoy, "k-1").await.header("idempotent-replayed"),
        Some("true")
    );
    assert_eq!(runs(&origin), 1);
    let answer = post(&envoy, "/records/release", &format!("id={id}")).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json().unwrap()["before"]),
        (200, &Value::from("done"))
    );
    assert_eq!(
        post(&envoy, "/records/release", &format!("id={id}"))
            .await
            .status,
        404
    );
    assert_eq!(
        charge(&envoy, "k-1").await.header("idempotent-replayed"),
        None
    );
    assert_eq!(runs(&origin), 2);
    // Envoy writes its log with a delay.
    tidegate_e2e::eventually(super::SOON, async || {
        let log = envoy.log();
        anyhow::ensure!(log.contains("records.release"), "{log}");
        Ok(())
    })
    .await
    .unwrap();
    assert!(!envoy.log().contains("k-1"));
}

#[tokio::test]
async fn what_runs_is_released_by_force_alone() {
    let (envoy, origin) = start(2).await;
    origin.answer(
        "/charges",
        Reply::status(http::StatusCode::CREATED)
            .after(Duration::from_secs(3))
            .body("late"),
    );
    let (first, ()) = tokio::join!(charge(&envoy, "k-1"), async {
        let id = tidegate_e2e::eventually(super::SOON, async || {
            let found = shown(&envoy, &format!("/records?{}", query("k-1"))).await;
            anyhow::ensure!(found["records"][0]["state"] == "running", "{found:#}");
            Ok(found["records"][0]["id"].as_str().unwrap().to_owned())
        })
        .await
        .unwrap();
        let kept = post(&envoy, "/records/release", &format!("id={id}")).await;
        assert_eq!(kept.status, 409, "{}", kept.text());
        assert!(kept.text().contains("force=true"), "{}", kept.text());
        let ended = post(&envoy, "/records/release", &format!("id={id}&force=true")).await;
        assert_eq!(ended.json().unwrap()["before"], "running");
    });
    // Its own caller gets its answer; the record is gone.
    assert_eq!(first.status, 201);
    let none = shown(&envoy, &format!("/records?{}", query("k-1"))).await;
    assert!(none["records"].as_array().unwrap().is_empty(), "{none:#}");
    // What its answer would have taken is given back, so another one is stored and replayed.
    assert_eq!(charge(&envoy, "k-1").await.status, 201);
    assert_eq!(
        charge(&envoy, "k-1").await.header("idempotent-replayed"),
        Some("true")
    );
    assert_eq!(runs(&origin), 2);
}
