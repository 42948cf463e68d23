//! What is put together does what it is for: requests through both.

use serde_json::json;
use tidegate_e2e::{Answer, Client, Envoy, Origin, eventually};

use crate::stand::{Written, issuer};
use crate::{envoy_gateway, istio};

const SOON: std::time::Duration = std::time::Duration::from_secs(20);

async fn charge(envoy: &Envoy, token: Option<&str>) -> Answer {
    let call = Client::h1().post(envoy.shipped_at("/v1/charges"));
    let call = call.header("idempotency-key", "k-1").body("{}");
    let call = match token {
        Some(token) => call.header("authorization", format!("Bearer {token}")),
        None => call,
    };
    call.send().await.unwrap()
}

async fn serves(written: Written) {
    let origin = Origin::start().await.unwrap();
    let envoy = written.start(&origin).await;
    let claims = json!({"tenant_id": "acme", "sub": "ann"});
    let token = issuer().token(claims).unwrap();

    let hello = Client::h1().get(envoy.shipped_at("/hello"));
    let hello = hello.send().await.unwrap();
    assert_eq!(hello.status, 200);
    assert!(hello.headers.contains_key("ratelimit"), "{hello:?}");

    // The claims are found: a guest may not, and ann may, once. The body is read before that, so headers may wait.
    assert_eq!(charge(&envoy, None).await.status, 401);
    let first = charge(&envoy, Some(&token)).await;
    assert_eq!(first.status, 200);
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let again = charge(&envoy, Some(&token)).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.body, first.body);

    // A copy of her own comes through gate, cache and the role in the cluster; the application sees the path as she sent it.
    let orders = async || {
        let call = Client::h1().get(envoy.shipped_at("/orders/7"));
        let call = call.header("authorization", format!("Bearer {token}"));
        let lines = r#"[["cache-control", "public, max-age=60"]]"#;
        let call = call.header("x-origin-respond-headers", lines);
        call.send().await.unwrap()
    };
    for _ in 0..2 {
        let order = orders().await;
        assert_eq!(order.status, 200, "{order:?}");
        let seen = order.text();
        assert!(
            seen.contains("/orders/7") && !seen.contains("__tidegate"),
            "{seen}"
        );
    }

    eventually(SOON, async || {
        let metrics = Client::h1().get(format!("{}/stats/prometheus", envoy.admin()));
        let metrics = metrics.send().await?.text();
        let labels =
            r#"tidegate_decisions{policy="shop",rule="identity-required",outcome="refused"} 1"#;
        let found = metrics.lines().any(|line| same_labels(line, labels));
        anyhow::ensure!(found, "no `{labels}`");
        Ok(())
    })
    .await
    .unwrap();
}

/// Whether two lines are the same but for the order of their labels.
fn same_labels(line: &str, other: &str) -> bool {
    let parts = |line: &str| {
        let mut parts: Vec<String> = line.split(['{', ',', '}']).map(str::to_owned).collect();
        parts.sort();
        parts
    };
    line.contains("tidegate_decisions") && parts(line) == parts(other)
}

#[tokio::test]
async fn the_gateway_of_istio_serves() {
    serves(istio::deployed()).await;
}

#[tokio::test]
async fn the_envoy_of_envoy_gateway_serves() {
    serves(envoy_gateway::deployed()).await;
}
