//! Buckets, refusals and resets.

use anyhow::ensure;
use serde_json::Value;
use tidegate_e2e::{Client, Envoy, eventually};

use super::{SECRET, SOON, amy, ask, bucket, post, shown, start};

/// The digest that stands for Amy's key.
const DIGEST: &str = "sha256:";

#[tokio::test]
async fn buckets_hold_what_requests_left_and_say_when_the_next_is_admitted() {
    let (envoy, _origin) = start(2).await;
    // Before anybody came.
    let nobody = shown(&envoy, &format!("/limits?account={SECRET}")).await;
    assert!(
        nobody["note"].as_str().unwrap().contains("the same"),
        "{nobody}"
    );
    assert!(
        nobody["buckets"]
            .as_array()
            .unwrap()
            .iter()
            .all(|b| b["stored"] == false && b["level"] == b["burst"]),
        "{nobody}"
    );

    for left in [2, 1, 0] {
        assert_eq!(amy(&envoy, "/x").await.status, 200);
        let found = shown(&envoy, &format!("/limits?account={SECRET}")).await;
        let bucket = bucket(&found, "account");
        assert_eq!(bucket["level"], left, "{bucket}");
        assert_eq!(
            (&bucket["burst"], &bucket["rate"]),
            (&Value::from(3), &Value::from("1/min"))
        );
        assert_eq!(bucket["identity"], "account by header x-api-key");
    }
    // What the bucket says is what the caller is told.
    let refused = amy(&envoy, "/x").await;
    assert_eq!(refused.status, 429);
    let told = refused.problem().unwrap()["retry_after_ms"]
        .as_u64()
        .unwrap();
    let found = shown(&envoy, &format!("/limits?account={SECRET}")).await;
    let wait = bucket(&found, "account")["wait_ms"].as_u64().unwrap();
    assert!(wait <= told && told - wait < 5_000, "{told} {wait}");
    assert!(wait > 50_000, "{wait}");

    // By its scope, as logs have it, it is the same bucket.
    let scope = bucket(&found, "account")["scope"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_scope = shown(&envoy, &format!("/limits?scope={scope}")).await;
    assert_eq!(bucket(&by_scope, "account")["level"], 0);
    // The refusal is remembered for all workers a second later.
    let refused = eventually(SOON, async || {
        let all = shown(&envoy, "/limits").await;
        let first = all["scopes"][0].clone();
        ensure!(first["scope"] == scope.as_str(), "{all:#}");
        Ok(first)
    })
    .await
    .unwrap();
    assert_eq!(
        (&refused["refused"], &refused["rule"]),
        (&Value::from(1), &Value::from("account"))
    );
    assert_eq!(refused["bucket"]["level"], 0);
    assert_eq!(
        shown(&envoy, "/limits?limit=search").await["scopes"],
        Value::Array(vec![])
    );

    // By the drained tables too.
    let drained = shown(&envoy, "/limits?order=drained").await;
    assert_eq!(
        drained["buckets"][0]["scope"],
        scope.as_str(),
        "{drained:#}"
    );
    assert_eq!(
        drained["next"], "search:0",
        "one request looks at 4,096 sets"
    );
    let rest = shown(&envoy, "/limits?order=drained&next=search:0").await;
    assert_eq!(
        (&rest["buckets"], rest.get("next")),
        (&Value::Array(vec![]), None)
    );

    nothing_is_told(&envoy).await;
}

/// The value of a secret is in no answer and no log.
async fn nothing_is_told(envoy: &Envoy) {
    let mut told = envoy.log();
    for path in ["/", "/policy", "/limits", "/limits?order=drained"] {
        for accept in ["text/html", "application/json"] {
            let call = Client::h1().get(envoy.live(path)).header("accept", accept);
            told += &call.send().await.unwrap().text();
        }
    }
    let own = format!("/limits?account={SECRET}");
    let call = Client::h1()
        .get(envoy.live(&own))
        .header("accept", "text/html");
    told += &call.send().await.unwrap().text();
    told += &ask(envoy, &own).await.text();
    assert!(!told.contains(SECRET), "{told}");
    assert!(!told.contains(DIGEST), "{told}");
}

#[tokio::test]
async fn a_callers_routes_and_overrides_are_told() {
    let (envoy, _origin) = start(1).await;
    assert_eq!(amy(&envoy, "/search").await.status, 200);
    let found = shown(&envoy, &format!("/limits?account={SECRET}")).await;
    let search = bucket(&found, "search");
    assert_eq!(
        (&search["level"], &search["route"]),
        (&Value::from(1), &Value::from("search"))
    );
    let big = Client::h1()
        .get(envoy.at("/x?account=big"))
        .send()
        .await
        .unwrap();
    assert_eq!(big.status, 200);
    let found = shown(&envoy, "/limits?account=big&limit=account").await;
    let bucket = bucket(&found, "account");
    assert_eq!(
        (&bucket["level"], &bucket["burst"]),
        (&Value::from(29), &Value::from(30))
    );
    assert_eq!(bucket["identity"], "account by query account");
}

#[tokio::test]
async fn a_reset_admits_the_caller_at_once() {
    let (envoy, _origin) = start(2).await;
    for _ in 0..3 {
        assert_eq!(amy(&envoy, "/x").await.status, 200);
    }
    // Often enough for both workers to remember it.
    for _ in 0..40 {
        assert_eq!(amy(&envoy, "/x").await.status, 429);
    }
    let answer = post(
        &envoy,
        "/limits/reset",
        &format!("limit=account&account={SECRET}"),
    )
    .await;
    let told = answer.json().unwrap();
    assert_eq!(answer.status, 200, "{told}");
    assert_eq!(
        (&told["reset"][0]["before"], &told["reset"][0]["after"]),
        (&Value::from(0), &Value::from(3)),
        "{told}"
    );
    let begun = std::time::Instant::now();
    eventually(SOON, async || {
        let answer = amy(&envoy, "/x").await;
        ensure!(answer.status == 200, "{}", answer.text());
        Ok(())
    })
    .await
    .unwrap();
    assert!(
        begun.elapsed() < std::time::Duration::from_millis(1_500),
        "{:?}",
        begun.elapsed()
    );
    let found = shown(&envoy, &format!("/limits?account={SECRET}")).await;
    assert_eq!(bucket(&found, "account")["level"], 2);
    // It is logged once, with what it was and what it is.
    let line = eventually(SOON, async || {
        let log = envoy.log();
        let line = log
            .lines()
            .find(|line| line.contains("tidegate.admin"))
            .map(str::to_owned);
        line.ok_or_else(|| anyhow::anyhow!("{log}"))
    })
    .await
    .unwrap();
    let (_, line) = line.split_once('{').unwrap();
    let (line, _) = line.rsplit_once('}').unwrap();
    let line: Value = serde_json::from_str(&format!("{{{line}}}")).unwrap();
    assert_eq!(
        (&line["what"], &line["limit"], &line["policy"]),
        (
            &Value::from("limits.reset"),
            &Value::from("account"),
            &Value::from("live")
        )
    );
    assert_eq!(
        (&line["reset"][0]["before"], &line["reset"][0]["after"]),
        (&Value::from(0), &Value::from(3))
    );
    assert!(!envoy.log().contains(SECRET));
    // By the scope, and once more when it is full, nothing goes wrong.
    let scope = line["reset"][0]["scope"].as_str().unwrap();
    let again = post(
        &envoy,
        "/limits/reset",
        &format!("limit=account&scope={scope}"),
    )
    .await;
    assert_eq!(again.json().unwrap()["reset"][0]["before"], 2);
    let again = post(
        &envoy,
        "/limits/reset",
        &format!("limit=account&scope={scope}"),
    )
    .await;
    assert_eq!(again.json().unwrap()["reset"][0]["before"], 3);
}

#[tokio::test]
async fn the_policy_and_who_runs_it_is_told() {
    let (envoy, _origin) = start(2).await;
    let running = eventually(SOON, async || {
        let about = shown(&envoy, "/policy").await;
        ensure!(about["running"][0]["vms"].as_u64() >= Some(2), "{about:#}");
        Ok(about)
    })
    .await
    .unwrap();
    assert_eq!(
        (&running["policy"], &running["version"], &running["mode"]),
        (
            &Value::from("live"),
            &Value::from("7.1"),
            &Value::from("enforce")
        )
    );
    assert_eq!(running["running"][0]["version"], "7.1");
    assert_eq!(running["limits"].as_array().unwrap().len(), 2);
    // Nothing that is asked here counts as a decision.
    assert_eq!(envoy.counter("tidegate_store_errors").await.unwrap(), 0);
    let metrics = envoy.prometheus().await.unwrap();
    let allowed = metrics
        .lines()
        .filter(|line| line.starts_with("tidegate_decisions") && !line.ends_with(" 0"));
    assert_eq!(allowed.count(), 0, "{metrics}");
}

#[tokio::test]
async fn what_is_not_understood_is_refused_with_what_to_write() {
    let (envoy, _origin) = start(1).await;
    for (path, status, said) in [
        ("/nowhere", 404, "/policy"),
        ("/limits?acount=x", 400, "`acount` means nothing here"),
        (
            "/limits?limit=acount",
            400,
            "write one of `account`, `search`",
        ),
        ("/limits?scope=12", 400, "32 hexadecimal digits"),
        ("/limits?top=0", 400, "from 1 to 1000"),
        ("/limits?order=best", 400, "`drained`"),
        ("/limits?account=a&account=b", 400, "twice"),
        ("/limits?address=here", 400, "192.0.2.1"),
        ("/limits?plan=free", 400, "no sources for `plan`"),
        ("/records", 400, "`id`"),
        ("/records?id=12", 400, "64 hexadecimal digits"),
        ("/limits/reset", 405, "POST"),
    ] {
        let answer = ask(&envoy, path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        let detail = answer.problem().unwrap()["detail"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(detail.contains(said), "{path}: {detail}");
    }
    let wrong = Client::h1()
        .post(envoy.live("/limits"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (wrong.status.as_u16(), wrong.header("allow")),
        (405, Some("GET, HEAD"))
    );
    let head = Client::h1()
        .call(http::Method::HEAD, envoy.live("/limits"))
        .send()
        .await
        .unwrap();
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    let wrong = post(&envoy, "/limits/reset", "limit=account").await;
    assert_eq!(wrong.status, 400);
    let large = post(&envoy, "/limits/reset", &"a".repeat(100_000)).await;
    assert_eq!(large.status, 413);
    let json = Client::h1()
        .post(envoy.live("/limits/reset"))
        .header("content-type", "application/json");
    let json = json
        .body(format!(
            "{{\"limit\":\"account\",\"account\":\"{SECRET}\"}}"
        ))
        .send()
        .await
        .unwrap();
    assert_eq!(json.status, 200, "{}", json.text());
}
