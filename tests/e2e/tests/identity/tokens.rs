//! Tokens that `jwt_authn` verified; what it refuses never gets as far as the module.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::{Client, Envoy};

use crate::{ADMITTED, AMBIGUOUS, REFUSED, once, said};

/// What `jwt_authn` answers to a token that it does not believe.
const UNVERIFIED: &str = "401";

async fn start(claim: &str, issuers: Vec<Issuer>) -> Envoy {
    let mut envoy = Envoy::builder()
        .concurrency(2)
        .policy(&once(json!({"account": [{"jwt": claim}]})));
    for issuer in issuers {
        envoy = envoy.jwt(issuer);
    }
    envoy.start().await.unwrap()
}

#[tokio::test]
async fn d5_one_subject_at_two_issuers_is_two_accounts() {
    let issuers = ["https://idp.test", "https://other.test"].map(|name| Issuer::new(name).unwrap());
    let tokens = issuers
        .each_ref()
        .map(|issuer| issuer.token(json!({"sub": "amy"})).unwrap());
    let again = issuers[0]
        .token(json!({"sub": "amy", "jti": "another token"}))
        .unwrap();
    let envoy = start("sub", issuers.into()).await;
    let with = async |token: &str| said(Client::h1().get(envoy.at("/closed")).bearer(token)).await;
    assert_eq!(with(&tokens[0]).await, ADMITTED);
    assert_eq!(with(&tokens[1]).await, ADMITTED);
    for token in [&tokens[0], &tokens[1], &again] {
        assert_eq!(with(token).await, REFUSED);
    }
}

#[tokio::test]
async fn d8_a_token_that_does_not_verify_is_refused_before_and_charged_to_nobody() {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let stranger = Issuer::new("https://idp.test").unwrap();
    let claims = json!({"iss": "https://idp.test", "sub": "amy", "exp": 4_000_000_000_u64});
    let token = issuer.token(claims.clone()).unwrap();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "none", "typ": "JWT"}));
    let signature = token.rsplit('.').next().unwrap();
    let forged = [
        stranger.token(claims.clone()).unwrap(),
        format!("{header}.{}.", part(&claims)),
        format!("{header}.{}.{signature}", part(&claims)),
        issuer.token(json!({"sub": "amy", "exp": 1_000})).unwrap(),
        "not.a.token".to_owned(),
    ];
    let envoy = start("sub", vec![issuer]).await;
    let with = async |token: &str| said(Client::h1().get(envoy.at("/")).bearer(token)).await;
    for token in &forged {
        assert_eq!(with(token).await, UNVERIFIED, "{token}");
    }
    // Neither amy nor the address from which all of them came has been charged.
    assert_eq!(envoy.decisions("none", "allowed").await.unwrap(), 0);
    assert_eq!(said(Client::h1().get(envoy.at("/"))).await, ADMITTED);
    assert_eq!(with(&token).await, ADMITTED);
    assert_eq!(with(&token).await, REFUSED);
}

#[tokio::test]
async fn d3_d4_d7_claims_are_read_nested_and_dotted_and_only_as_text() {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let claims = [
        // A nested claim, and one whose name has the dots in it: the latter goes before.
        (json!({"user": {"id": "nested"}}), ADMITTED),
        (json!({"user": {"id": "nested"}}), REFUSED),
        (json!({"user.id": "dotted"}), ADMITTED),
        (
            json!({"user.id": "dotted", "user": {"id": "other"}}),
            REFUSED,
        ),
        (json!({"user": {"id": "other"}}), ADMITTED),
        // d7: 2^53 and 2^53 + 1 are one double, so that no number is an account.
        (
            json!({"user": {"id": 9_007_199_254_740_992_u64}}),
            AMBIGUOUS,
        ),
        (
            json!({"user": {"id": 9_007_199_254_740_993_u64}}),
            AMBIGUOUS,
        ),
        (json!({"user": {"id": 7}}), AMBIGUOUS),
        (json!({"user": {"id": true}}), AMBIGUOUS),
        (json!({"user": {"id": ["a"]}}), AMBIGUOUS),
        (json!({"user": {"id": {"a": "b"}}}), AMBIGUOUS),
        (json!({"user": {"id": "7"}}), ADMITTED),
        (json!({"user": {"id": "x".repeat(1_025)}}), AMBIGUOUS),
        (json!({"user": {"id": "a\nb"}}), AMBIGUOUS),
        (json!({"user": {"id": "a\0b"}}), AMBIGUOUS),
        // d3: what is no identity.
        (json!({"user": {"id": null}}), "401 identity-required"),
        (json!({"user": {"id": " "}}), "401 identity-required"),
        (json!({"user": "flat"}), "401 identity-required"),
        (json!({}), "401 identity-required"),
    ];
    let tokens =
        claims.map(|(claims, expected)| (issuer.token(claims.clone()).unwrap(), claims, expected));
    let envoy = start("user.id", vec![issuer]).await;
    for (token, claims, expected) in tokens {
        let call = Client::h1().get(envoy.at("/closed")).bearer(&token);
        assert_eq!(said(call).await, expected, "{claims}");
    }
}

/// RFC 7519 has it a text, so that `jwt_authn` itself refuses another; numbers in other claims reach the module.
#[tokio::test]
async fn d7_a_numeric_subject_is_not_even_verified() {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let number = json!({"sub": 9_007_199_254_740_993_u64});
    let token = issuer.token(number).unwrap();
    let envoy = start("sub", vec![issuer]).await;
    let get = || Client::h1().get(envoy.at("/"));
    assert_eq!(said(get().bearer(&token)).await, UNVERIFIED);
    assert_eq!(said(get()).await, ADMITTED);
}

#[tokio::test]
async fn d6_a_request_without_a_token_is_not_the_one_before_it() {
    let issuer = Issuer::new("https://idp.test").unwrap();
    let token = issuer.token(json!({"sub": "amy"})).unwrap();
    let envoy = start("sub", vec![issuer]).await;
    // One connection for all.
    for client in [Client::h1(), Client::h2()] {
        let get = |path: &str| client.get(envoy.at(path));
        said(get("/").bearer(&token)).await;
        assert_eq!(said(get("/").bearer(&token)).await, REFUSED);
        assert_eq!(said(get("/closed")).await, "401 identity-required");
        assert_eq!(said(get("/open")).await, ADMITTED);
        assert_eq!(said(get("/closed").bearer("not.a.token")).await, UNVERIFIED);
    }
}
