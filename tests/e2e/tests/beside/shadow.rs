//! In shadow: nothing changes for anybody, and where the two would have decided differently is counted.

use anyhow::ensure;
use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Answer, Client, Envoy, Origin, eventually};

use crate::{SOON, disagreements, disagrees, policy};

fn shadow(burst: u64, more: &Value) -> Value {
    let mut policy = policy("2", burst, more);
    policy["mode"] = json!("shadow");
    policy
}

async fn start(
    in_force: &Value,
    beside: &Value,
    change: impl FnOnce(Builder) -> Builder,
) -> (Envoy, Origin) {
    let origin = Origin::start().await.unwrap();
    let builder = Envoy::builder().concurrency(2).origin(&origin);
    let envoy = change(builder.policy(in_force).candidate(beside));
    (envoy.start().await.unwrap(), origin)
}

async fn get(envoy: &Envoy, path: &str, account: &str) -> Answer {
    let call = Client::h1()
        .get(envoy.at(path))
        .header("x-account", account);
    call.send().await.unwrap()
}

#[tokio::test]
async fn limits_that_are_stricter_or_looser_are_told_apart() {
    let none = json!({});
    for (ours, theirs, direction) in [(5, 2, "stricter"), (2, 5, "looser")] {
        let (envoy, origin) = start(&policy("1", ours, &none), &shadow(theirs, &none), |b| b).await;
        for n in 0..7 {
            let answer = get(&envoy, &format!("/{n}"), "amy").await;
            let admitted = n < ours;
            assert_eq!(answer.status == 200, admitted, "{n} {answer:?}");
            // Whoever stands beside, the fields are those of the policy in force.
            let told = answer.headers.get_all("ratelimit-policy").iter();
            assert_eq!(told.count(), 1);
            let line = envoy.logged(&format!("/{n}")).await.unwrap();
            let decision = if admitted {
                "allowed"
            } else {
                "refused:account"
            };
            assert_eq!(line["decision"], decision);
        }
        assert_eq!(origin.total(), ours);
        // Between the two bursts they disagree; below and above both they agree.
        disagrees(&envoy, &[("account", direction, 3)]).await;
        let log = envoy.log();
        let lines: Vec<_> = log
            .lines()
            .filter(|l| l.contains("tidegate.disagreement"))
            .collect();
        assert_eq!(lines.len(), 1, "{log}");
        let (_, json) = lines[0].split_once(": {").unwrap();
        let json: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
        for (key, wanted) in [
            ("policy", json!("beside")),
            ("version", json!("2")),
            ("count", json!(1)),
            ("rule", json!("account")),
            ("direction", json!(direction)),
            ("method", json!("GET")),
            ("path", json!("/2")),
        ] {
            assert_eq!(json[key], wanted, "{json}");
        }
    }
}

#[tokio::test]
async fn two_rules_that_refuse_are_another_disagreement() {
    let ceiling = json!({"limits": {
        "account": {"per": ["account"], "rate": "1/h", "burst": 9},
        "tenant": {"per": ["tenant"], "otherwise": "account", "rate": "1/h", "burst": 1},
    }, "always": ["tenant", "account"]});
    let (envoy, _origin) = start(&policy("1", 1, &json!({})), &shadow(9, &ceiling), |b| b).await;
    for _ in 0..4 {
        get(&envoy, "/", "amy").await;
    }
    disagrees(&envoy, &[("tenant", "other", 3)]).await;
}

#[tokio::test]
async fn a_policy_that_agrees_or_stands_alone_counts_none() {
    let none = json!({});
    let (envoy, _origin) = start(&policy("1", 2, &none), &shadow(2, &none), |b| b).await;
    let alone = Envoy::builder()
        .policy(&shadow(2, &none))
        .start()
        .await
        .unwrap();
    for envoy in [&envoy, &alone] {
        for n in 0..5 {
            get(envoy, &format!("/{n}"), "amy").await;
        }
        // The log is written after the filters are done with a request.
        envoy.logged("/4").await.unwrap();
        assert_eq!(disagreements(envoy).await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_is_reserved_is_refused_as_without_a_policy_beside() {
    let none = json!({});
    let (envoy, origin) = start(&policy("1", 9, &none), &shadow(9, &none), |b| b).await;
    for name in ["x-tidegate-scope", "x-tidegate-cache"] {
        let call = Client::h1().get(envoy.at("/")).header(name, "mine");
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status, 400, "{answer:?}");
        let detail = answer.json().unwrap()["detail"].to_string();
        assert!(detail.contains(name), "{detail}");
    }
    assert_eq!(origin.total(), 0);
    // Alone it changes nothing, and nobody behind hears in our name what a client said.
    let alone = Envoy::builder()
        .policy(&shadow(9, &none))
        .origin(&origin)
        .start()
        .await
        .unwrap();
    let call = Client::h1()
        .get(alone.at("/"))
        .header("x-tidegate-scope", "mine");
    assert_eq!(call.send().await.unwrap().status, 200);
    let seen = origin.seen("/");
    assert!(
        seen[0]
            .headers
            .get_all("x-tidegate-scope")
            .iter()
            .all(http::HeaderValue::is_empty)
    );
}

fn charges(ttl: &str) -> Value {
    json!({"routes": [{"name": "charges", "match": {"methods": ["POST"]},
        "idempotency": {"key": "required", "ttl": ttl}}]})
}

async fn charge(envoy: &Envoy, key: &str, body: &str) -> Answer {
    let call = Client::h1().call(Method::POST, envoy.at("/charges"));
    let call = call
        .header("x-account", "amy")
        .header("idempotency-key", key);
    call.body(body.to_owned()).send().await.unwrap()
}

#[tokio::test]
async fn a_rule_for_keys_is_tried_beside_none_and_none_beside_it() {
    let none = json!({});
    // It would refuse what has no key, and replay what comes again.
    let (envoy, origin) = start(&policy("1", 9, &none), &shadow(9, &charges("24h")), |b| b).await;
    for key in ["k", "k", "l"] {
        assert_eq!(charge(&envoy, key, "{}").await.status, 200);
    }
    let keyless = Client::h1().call(Method::POST, envoy.at("/charges"));
    let keyless = keyless.header("x-account", "amy").body("{}".to_owned());
    assert_eq!(keyless.send().await.unwrap().status, 200);
    assert_eq!(origin.total(), 4);
    disagrees(
        &envoy,
        &[
            ("idempotency-key-missing", "stricter", 1),
            ("replay", "other", 1),
        ],
    )
    .await;

    let (envoy, origin) = start(&policy("1", 9, &charges("24h")), &shadow(9, &none), |b| b).await;
    assert_eq!(charge(&envoy, "k", "{}").await.status, 200);
    let again = charge(&envoy, "k", "{}").await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(charge(&envoy, "k", "other").await.status, 422);
    assert_eq!(origin.total(), 1);
    disagrees(
        &envoy,
        &[
            ("idempotency-key-reused", "looser", 1),
            ("replay", "other", 1),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_same_rule_for_keys_agrees_and_the_first_gets_its_replay() {
    let both = charges("24h");
    let (envoy, origin) = start(&policy("1", 9, &both), &shadow(9, &both), |b| b).await;
    assert_eq!(charge(&envoy, "k", "{}").await.status, 200);
    for _ in 0..3 {
        let again = charge(&envoy, "k", "{}").await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
    }
    assert_eq!(origin.total(), 1);
    eventually(SOON, async || {
        let replayed = envoy.decisions("none", "shadow-replayed").await?;
        ensure!(replayed == 3, "{replayed}");
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(disagreements(&envoy).await.unwrap(), []);
}

#[tokio::test]
async fn what_the_origin_says_of_replays_stays_as_without_it() {
    let none = json!({});
    let (envoy, _origin) = start(&policy("1", 9, &none), &shadow(9, &charges("24h")), |b| b).await;
    let call = Client::h1().call(Method::POST, envoy.at("/charges"));
    let call = call
        .header("x-account", "amy")
        .header("idempotency-key", "k");
    let said = r#"[["idempotent-replayed", "true"]]"#;
    let call = call.header("x-origin-respond-headers", said).body("{}");
    let answer = call.send().await.unwrap();
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
}

fn scoped(scope: &Value) -> Value {
    json!({"routes": [{"name": "mine", "match": {"methods": ["GET"], "path": "/mine/*"}, "cache": {"scope": scope}}]})
}

/// A GET whose answer may be stored by anybody.
async fn cached(envoy: &Envoy, path: &str, account: &str) -> Answer {
    let call = Client::h1().get(envoy.at(path)).header("x-tenant", "acme");
    let call = call.header("x-account", account);
    let headers = r#"[["cache-control", "public, max-age=60"]]"#;
    call.header("x-origin-respond-headers", headers)
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn copies_that_others_would_share_are_counted_and_those_of_the_same_are_not() {
    let tenant = scoped(&json!(["tenant"]));
    let table = [
        (json!(["tenant"]), 0),
        (json!(["tenant", "account"]), 4),
        (json!("public"), 4),
    ];
    for (scope, count) in table {
        let builder = |b: Builder| {
            b.environment("TIDEGATE_SCOPE_KEY", "a key for tests")
                .cache(Cache::V2)
                .origin_role()
        };
        let (envoy, origin) = start(
            &policy("1", 99, &tenant),
            &shadow(99, &scoped(&scope)),
            builder,
        )
        .await;
        for (path, account) in [
            ("/mine/a", "amy"),
            ("/mine/a", "ben"),
            ("/mine/a", "amy"),
            ("/mine/b", "amy"),
        ] {
            assert_eq!(cached(&envoy, path, account).await.status, 200);
        }
        // On a route that neither scopes they agree.
        cached(&envoy, "/other", "amy").await;
        // The copies are those of the policy in force.
        assert_eq!(origin.count("/mine/a"), 1, "{scope}");
        envoy.logged("/other").await.unwrap();
        if count == 0 {
            assert_eq!(disagreements(&envoy).await.unwrap(), [], "{scope}");
        } else {
            disagrees(&envoy, &[("cache-key", "other", count)]).await;
        }
    }
}
