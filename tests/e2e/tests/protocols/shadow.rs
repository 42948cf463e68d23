//! Shadow: everything is decided, counted and logged, and nothing changes for the caller. And what operators see.

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client};

use crate::{get, policy, send, start};

/// Ways to be in shadow: the policy, a route, the limit; and what the log says of the request over the limit.
fn ways() -> [(&'static str, Value, &'static str); 3] {
    let limit = json!({"per": ["account"], "rate": "1/h", "burst": 2, "shadow": true});
    let route = json!([{"name": "all", "match": {"path": "/*"}, "mode": "shadow"}]);
    [
        (
            "policy",
            json!({"mode": "shadow"}),
            "shadow-refused:account",
        ),
        ("route", json!({"routes": route}), "shadow-refused:account"),
        ("limit", json!({"limits": {"account": limit}}), "allowed"),
    ]
}

fn untouched(answer: &Answer, path: &str) {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().unwrap()["path"], path);
    for field in ["retry-after", "cache-control"] {
        assert_eq!(answer.header(field), None);
    }
}

#[tokio::test]
async fn shadow_changes_nothing_for_the_caller_and_is_counted() {
    for (way, more, decision) in ways() {
        let (envoy, origin) = start(&policy(&more)).await;
        for number in 0..5 {
            let path = format!("/{way}/{number}");
            let answer = get(&envoy, &path, "a").await;
            untouched(&answer, &path);
            // Nothing binds, so there is nothing to tell once a limit would have refused.
            assert!(number < 2 || answer.header("ratelimit").is_none(), "{way}");
            let expected = if number < 2 { "allowed" } else { decision };
            let line = envoy.logged(&path).await.unwrap();
            assert_eq!(line["decision"], expected, "{way}");
        }
        assert_eq!(origin.total(), 5, "{way}");
        assert_eq!(
            envoy.decisions("account", "shadow-refused").await.unwrap(),
            3,
            "{way}"
        );
        assert_eq!(
            envoy.decisions("account", "refused").await.unwrap(),
            0,
            "{way}"
        );
        assert_eq!(
            envoy.decisions("none", "allowed").await.unwrap(),
            5,
            "{way}"
        );
    }
}

#[tokio::test]
async fn shadow_lets_through_what_no_limit_refuses_too() {
    let (envoy, origin) = start(&policy(&json!({"mode": "shadow"}))).await;
    let client = Client::h1();
    let twice = client
        .get(envoy.at("/twice"))
        .header("x-account", "a")
        .header("x-account", "b");
    let reserved = client
        .get(envoy.at("/reserved"))
        .header("x-tidegate-scope", "mine");
    let table = [
        (twice, "/twice", "identity-ambiguous"),
        (reserved, "/reserved", "reserved-name"),
        (
            client.get(envoy.at("/closed")),
            "/closed",
            "identity-required",
        ),
    ];
    for (call, path, rule) in table {
        untouched(&send(call).await, path);
        assert_eq!(
            envoy.decisions(rule, "shadow-refused").await.unwrap(),
            1,
            "{rule}"
        );
        assert_eq!(envoy.decisions(rule, "refused").await.unwrap(), 0, "{rule}");
        let line = envoy.logged(path).await.unwrap();
        assert_eq!(line["decision"], format!("shadow-refused:{rule}"));
    }
    assert_eq!(origin.total(), 3);
}

#[tokio::test]
async fn operators_see_each_decision_in_metrics_and_the_access_log() {
    let (envoy, _origin) = start(&policy(&json!({}))).await;
    let table = [
        ("/1", "a", 200, "allowed"),
        ("/2", "a", 200, "allowed"),
        ("/3", "a", 429, "refused:account"),
        ("/closed", "", 401, "refused:identity-required"),
    ];
    for (path, account, status, decision) in table {
        assert_eq!(get(&envoy, path, account).await.status, status);
        assert_eq!(envoy.logged(path).await.unwrap()["decision"], decision);
    }
    let text = envoy.prometheus().await.unwrap();
    for series in [
        r#"tidegate_decisions{policy="protocols",rule="none",outcome="allowed"} 2"#,
        r#"tidegate_decisions{policy="protocols",rule="account",outcome="refused"} 1"#,
        r#"tidegate_decisions{policy="protocols",rule="identity-required",outcome="refused"} 1"#,
        r#"tidegate_decisions{policy="protocols",rule="reserved-name",outcome="refused"} 0"#,
        r#"tidegate_policy_info{policy="protocols",version="1"} 1"#,
        r#"tidegate_table_overflows{policy="protocols"} 0"#,
        r#"tidegate_store_errors{policy="protocols"} 0"#,
        r#"tidegate_swaps_given_up{policy="protocols"} 0"#,
    ] {
        assert!(
            text.lines().any(|line| line == series),
            "no {series} in\n{text}"
        );
    }
}
