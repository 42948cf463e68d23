//! Configurations that Envoy must not start with, and what its log says of each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use tidegate_e2e::envoy::Builder;
use tidegate_e2e::{Client, Envoy};

/// What the module had to say before Envoy gave up.
async fn reasons(builder: Builder) -> Vec<String> {
    let refusal = builder.try_start().await.unwrap().unwrap_err();
    let said = |line: &str| Some(line.split_once(": tidegate: ")?.1.to_owned());
    let mut reasons: Vec<String> = refusal.log.lines().filter_map(said).collect();
    // More than one VM may have read it.
    reasons.sort();
    reasons.dedup();
    assert!(!reasons.is_empty(), "{refusal}");
    reasons
}

fn good() -> Value {
    json!({
        "policy": "refused", "version": "1",
        "limits": {"address": {"per": ["address"], "rate": "1/h", "burst": 1}},
        "always": ["address"],
    })
}

#[tokio::test]
async fn every_mistake_of_a_policy_is_in_the_log_with_its_path() {
    let policy = json!({
        "policy": "Storefront", "version": "1",
        "limits": {"account": {"per": ["account"], "rate": "60/minute", "brust": 5}},
        "always": ["acount"],
        "routes": [{"name": "a", "match": {"path": "charges"}}],
        "mode": "watch",
    });
    let reasons = reasons(Envoy::builder().policy(&policy)).await;
    for reason in [
        "`$.limits.account.rate`: `60/minute` is not a rate; write a number and a unit, like `60/min` (units: s, min, h, day)",
        "`$.limits.account.brust`: unknown key `brust`; did you mean `burst`?",
    ] {
        assert!(
            reasons.iter().any(|found| found == reason),
            "no {reason} in {reasons:#?}"
        );
    }
    for path in [
        "$.policy",
        "$.always[0]",
        "$.mode",
        "$.routes[0].match.path",
        "$.limits.account.per[0]",
    ] {
        let place = format!("`{path}`: ");
        assert!(
            reasons.iter().any(|found| found.starts_with(&place)),
            "no {path} in {reasons:#?}"
        );
    }
    assert_eq!(reasons.len(), 7, "{reasons:#?}");
}

#[tokio::test]
async fn what_this_version_does_not_enforce_is_refused() {
    let policy = json!({
        "policy": "refused", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "store": {"redis": {"cluster": "redis"}},
    });
    let rest = "not enforced by this version; remove it, or use a version that enforces it";
    assert_eq!(
        reasons(Envoy::builder().policy(&policy)).await,
        [format!("`$.store`: a store other than `local` is {rest}"),]
    );
}

#[tokio::test]
async fn a_root_id_that_is_no_role_is_refused() {
    let found = reasons(Envoy::builder().policy(&good()).root_id("gates")).await;
    assert_eq!(
        found,
        ["root_id `gates` is not a role; write `gate`, `origin` or `admin`"]
    );
}

#[tokio::test]
async fn what_is_no_document_is_refused() {
    for text in ["", "{", "[]"] {
        let found = reasons(Envoy::builder().policy_text(text)).await;
        assert_eq!(found.len(), 1, "`{text}`: {found:?}");
        assert!(found[0].starts_with("`$`: "), "`{text}`: {found:?}");
    }
}

#[tokio::test]
async fn a_struct_is_as_good_as_a_text() {
    let envoy = Envoy::builder()
        .policy_struct(good())
        .start()
        .await
        .unwrap();
    let get = async || {
        Client::h1()
            .get(envoy.at("/"))
            .send()
            .await
            .unwrap()
            .status
            .as_u16()
    };
    assert_eq!((get().await, get().await), (200, 429));
    drop(envoy);

    let mut bad = good();
    bad["always"] = json!(["addres"]);
    let found = reasons(Envoy::builder().policy_struct(bad)).await;
    assert!(
        found.len() == 1 && found[0].starts_with("`$.always[0]`: "),
        "{found:?}"
    );
}
