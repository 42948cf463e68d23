//! What docs/live-state.md shows is what is answered, but for times and digests.

use std::path::Path;

use serde_json::Value;
use tidegate_e2e::{Client, Reply, eventually, repo};

use super::{SOON, shown, start};

/// An answer without what is another one each time.
fn same(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let value = if name.ends_with("_ms") {
                    "MS".into()
                } else {
                    same(value)
                };
                (name.clone(), value)
            };
            members.iter().map(member).collect()
        }
        Value::Array(items) => items.iter().map(same).collect(),
        Value::String(text)
            if [32, 64].contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            "DIGEST".into()
        }
        Value::String(text) if text.len() == 20 && text.ends_with('Z') => "TIME".into(),
        other => other.clone(),
    }
}

#[tokio::test]
async fn the_page_shows_what_is_answered() {
    let (envoy, origin) = start(1).await;
    origin.answer(
        "/charges",
        Reply::status(http::StatusCode::CREATED).body("charged"),
    );
    let call = Client::h1()
        .post(envoy.at("/charges?account=amy"))
        .header("idempotency-key", "k-1");
    let charged = call
        .header("host", "api.example")
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(charged.status, 201);
    // The charge was the first of three.
    for _ in 0..4 {
        Client::h1()
            .get(envoy.at("/x?account=amy"))
            .send()
            .await
            .unwrap();
    }
    eventually(SOON, async || {
        let all = shown(&envoy, "/limits").await;
        anyhow::ensure!(all["scopes"][0]["refused"] == 2, "{all:#}");
        Ok(())
    })
    .await
    .unwrap();
    let page = std::fs::read_to_string(repo().join("docs/live-state.md")).unwrap();
    let address = envoy.live("").replace("http://", "");
    let (mut commands, mut id) = (0, None::<String>);
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, answer) = block.strip_prefix("$ ").unwrap().split_once('\n').unwrap();
        let expected: Value = serde_json::from_str(answer).unwrap();
        let mut command = command.replace("localhost:9902", &address);
        // The id of the example is that of the record that was shown before.
        let shown = command.split_once("id=").map(|(_, rest)| rest);
        let shown = shown.and_then(|rest| rest.split(' ').next());
        if let (Some(own), Some(shown)) = (&id, shown.map(str::to_owned)) {
            command = command.replace(&shown, own);
        }
        let ran = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(Path::new("/"))
            .output()
            .unwrap();
        let found: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{command}: {ran:?}"));
        assert_eq!(same(&found), same(&expected), "{command}: {found}");
        id = found["records"][0]["id"].as_str().map(str::to_owned).or(id);
        commands += 1;
    }
    assert_eq!(commands, 4);
}
