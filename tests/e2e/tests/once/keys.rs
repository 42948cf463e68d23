//! The key and its header.

use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client};

use crate::stand::{BODY, CHARGES, Stand, nameless, policy};
use crate::{KEY, is_problem, is_replay};

/// A stand with a rule for each of these paths below `/v1/`.
async fn rules(rules: &[(&str, Value)]) -> Stand {
    let mut policy = policy(&json!({"key": "required"}));
    let routes = rules.iter().map(|(name, rule)| {
        let path = format!("/v1/{name}");
        json!({"name": name, "match": {"methods": ["POST"], "path": path}, "idempotency": rule})
    });
    policy["routes"] = routes.collect();
    Stand::start(&policy, |b| b).await
}

/// The answer to amy's request to this path below `/v1/`, with these lines for a key.
async fn post(stand: &Stand, name: &str, lines: &[&[u8]]) -> Answer {
    let (client, path) = (Client::h1(), format!("/v1/{name}"));
    let call = nameless(&client, Method::POST, &stand.envoy, &path);
    let mut call = call.header("x-account", "amy");
    for line in lines {
        call = call.header(KEY, line);
    }
    call.body(BODY).send().await.unwrap()
}

/// Nothing of a malformed key reaches the origin, or a record.
async fn is_invalid(stand: &Stand, name: &str, lines: &[&[u8]]) -> Value {
    let answer = post(stand, name, lines).await;
    let shown: Vec<_> = lines.iter().map(|l| String::from_utf8_lossy(l)).collect();
    assert_eq!(answer.status, 400, "{shown:?}: {answer:?}");
    let problem = is_problem(&answer, 400, "idempotency-key-invalid");
    assert_eq!(stand.origin.count(&format!("/v1/{name}")), 0, "{shown:?}");
    problem
}

#[tokio::test]
async fn a1_a2_a5_quoted_bare_and_with_parameters_are_one_key() {
    let stand = Stand::of(json!({"key": "required"})).await;
    assert!(!is_replay(&post(&stand, "charges", &[b"\"k-1\""]).await));
    let same: [&[u8]; 6] = [
        b"k-1",
        b"\"k-1\";a=1",
        b"\"k-1\"; a; b=\"x\"",
        b"k-1;a=1",
        b"  \"k-1\" ",
        b"\"k-1\"",
    ];
    for line in same {
        let answer = post(&stand, "charges", &[line]).await;
        assert!(is_replay(&answer), "{line:?}: {answer:?}");
    }
    assert_eq!(stand.origin.total(), 1);
    // Others: case counts, and what is escaped is not a quote's end.
    for line in [&b"\"K-1\""[..], b"\"k-1 \"", b"\"k-1\\\"\"", b"\"k-1;a=1\""] {
        let answer = post(&stand, "charges", &[line]).await;
        assert_eq!(answer.status, 200, "{line:?}: {answer:?}");
        assert!(!is_replay(&answer), "{line:?}: {answer:?}");
    }
    assert_eq!(stand.origin.total(), 5);
}

/// What is malformed in any case.
const MALFORMED: [&[u8]; 13] = [
    b"",
    b"\"\"",
    b"\"",
    b"\"a",
    b"a\"",
    b"\"a\\x\"",
    b"\"a\tb\"",
    b"\"\xc3\xa9\"",
    b"\xff",
    b"\"a\" b",
    b"a b",
    b"\"a\", \"b\"",
    b";a=1",
];

#[tokio::test]
async fn a3_a4_a6_what_is_malformed_is_refused() {
    let stand = rules(&[
        ("required", json!({"key": "required"})),
        ("optional", json!({"key": "optional"})),
        ("strict", json!({"key": "required", "syntax": "strict"})),
        ("short", json!({"key": "required", "max_key_length": 8})),
    ])
    .await;
    for name in ["required", "optional", "strict"] {
        for line in MALFORMED {
            is_invalid(&stand, name, &[line]).await;
        }
        is_invalid(&stand, name, &[b"\"a\"", b"\"a\""]).await;
        is_invalid(&stand, name, &[b"\"a\"", b"\"b\""]).await;
        let longest = "k".repeat(255);
        is_invalid(&stand, name, &[format!("\"{longest}k\"").as_bytes()]).await;
        let answer = post(&stand, name, &[format!("\"{longest}\"").as_bytes()]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    is_invalid(&stand, "short", &[b"123456789"]).await;
    assert_eq!(post(&stand, "short", &[b"12345678"]).await.status, 200);
}

#[tokio::test]
async fn a2_strict_wants_quotes() {
    let stand = Stand::of(json!({"key": "required", "syntax": "strict"})).await;
    let others: [&[u8]; 7] = [
        b"k-1",
        b"8e03978e-40d5-43e8",
        b"1",
        b"?1",
        b":YQ==:",
        b"(a)",
        b"k-1;a=1",
    ];
    for line in others {
        let problem = is_invalid(&stand, "charges", &[line]).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("in quotes"), "{detail}");
    }
    assert!(!is_replay(&post(&stand, "charges", &[b"\"k-1\""]).await));
    assert!(is_replay(&post(&stand, "charges", &[b"\"k-1\";a"]).await));
}

#[tokio::test]
async fn a7_a_missing_key_is_refused_where_it_is_required() {
    let mut both = policy(&json!({"key": "required"}));
    both["problem_base"] = json!("https://docs.example/problems/");
    let optional = json!({
        "name": "optional", "match": {"path": "/v1/optional"}, "idempotency": {"key": "optional"},
    });
    both["routes"].as_array_mut().unwrap().insert(0, optional);
    let stand = Stand::start(&both, |b| b).await;
    let answer = post(&stand, "charges", &[]).await;
    assert_eq!(answer.status, 400);
    let problem = answer.problem().unwrap();
    let expected = "https://docs.example/problems/idempotency-key-missing";
    assert_eq!(problem["type"], expected);
    assert_eq!(stand.origin.total(), 0);
    for _ in 0..2 {
        let answer = post(&stand, "optional", &[]).await;
        assert_eq!(answer.status, 200);
        assert!(!is_replay(&answer));
    }
    assert_eq!(stand.origin.total(), 2);
}

#[tokio::test]
async fn a38_methods_that_may_be_sent_again_have_no_key() {
    let mut policy = policy(&json!({"key": "required"}));
    policy["routes"] = json!([
        // Of these only what is named: GET and HEAD are never recorded.
        {"name": "named", "match": {"methods": ["PUT", "DELETE", "GET", "HEAD"], "path": "/v1/named"},
         "idempotency": {"key": "required"}},
        {"name": "all", "match": {"path": "/v1/*"}, "idempotency": {"key": "required"}},
    ]);
    let stand = Stand::start(&policy, |b| b).await;
    let send = async |method: &str, path: &str, key: Option<&str>| {
        let method = method.parse().unwrap();
        let call = nameless(&Client::h1(), method, &stand.envoy, path).header("x-account", "amy");
        let call = match key {
            Some(key) => call.header(KEY, key),
            None => call,
        };
        call.send().await.unwrap()
    };
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
        stand.origin.forget();
        for key in [None, Some("\"k\""), Some("\"k\""), Some("\"malformed")] {
            let answer = send(method, CHARGES, key).await;
            assert_eq!(answer.status, 200, "{method} {key:?}: {answer:?}");
            assert!(!is_replay(&answer), "{method} {key:?}");
        }
        assert_eq!(stand.origin.total(), 4, "{method}");
    }
    for (path, methods) in [
        (CHARGES, ["POST", "PATCH"]),
        ("/v1/named", ["PUT", "DELETE"]),
    ] {
        for method in methods {
            stand.origin.forget();
            let missing = send(method, path, None).await;
            is_problem(&missing, 400, "idempotency-key-missing");
            assert!(!is_replay(&send(method, path, Some("\"k\"")).await));
            assert!(
                is_replay(&send(method, path, Some("\"k\"")).await),
                "{method}"
            );
            assert_eq!(stand.origin.total(), 1, "{method}");
        }
    }
    for method in ["GET", "HEAD"] {
        for _ in 0..2 {
            let answer = send(method, "/v1/named", Some("\"k\"")).await;
            assert!(!is_replay(&answer), "{method}");
        }
    }
}
