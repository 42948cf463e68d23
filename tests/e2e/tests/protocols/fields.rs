//! `RateLimit` and the older fields, beside what the origin or a cache sends.

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client, Envoy, structured};

use crate::{get, lines, policy, send, start};

const ORIGINS: [(&str, &str); 3] = [
    ("ratelimit", r#""origin";r=3;t=9"#),
    ("ratelimit-policy", r#""origin";q=5;w=10"#),
    ("x-ratelimit-limit", "77"),
];

/// A request by `account` that the origin answers with fields of its own, as if `age` seconds old.
async fn with_fields(envoy: &Envoy, account: &str, age: Option<&str>) -> Answer {
    let mut respond: Vec<(&str, &str)> = ORIGINS.to_vec();
    respond.extend(age.map(|age| ("age", age)));
    let call = Client::h1().get(envoy.at("/")).header("x-account", account);
    send(call.header("x-origin-respond-headers", json!(respond).to_string())).await
}

fn names(answer: &Answer, field: &str) -> Vec<String> {
    let members = structured::list(&answer.headers, field).unwrap();
    members.into_iter().map(|member| member.name).collect()
}

#[tokio::test]
async fn b25_the_fields_of_an_origin_stay_beside_ours() {
    let (envoy, _origin) = start(&policy(&json!({"legacy_headers": true}))).await;
    for (account, age) in [("fresh", None), ("of-age-zero", Some("0"))] {
        let answer = with_fields(&envoy, account, age).await;
        for field in ["ratelimit", "ratelimit-policy"] {
            assert_eq!(names(&answer, field), ["origin", "account"], "{account}");
        }
        assert_eq!(lines(&answer, "ratelimit")[0], ORIGINS[0].1);
        assert_eq!(lines(&answer, "x-ratelimit-limit"), ["77", "2"]);
    }
}

#[tokio::test]
async fn b30_a_stored_response_carries_our_fields_alone() {
    let (envoy, _origin) = start(&policy(&json!({"legacy_headers": true}))).await;
    let answer = with_fields(&envoy, "a", Some("5")).await;
    for field in ["ratelimit", "ratelimit-policy"] {
        assert_eq!(names(&answer, field), ["account"]);
    }
    assert_eq!(
        structured::remaining(&answer.headers).unwrap(),
        [("account".to_owned(), 1)]
    );
    assert_eq!(lines(&answer, "x-ratelimit-limit"), ["2"]);
    assert_eq!(answer.header("age"), Some("5"));
}

#[tokio::test]
async fn fields_are_sent_when_the_policy_says() {
    // On an allowed response, and on a refused one.
    let table = [
        ("always", true, true),
        ("denied", false, true),
        ("off", false, false),
    ];
    for (when, allowed, refused) in table {
        let (envoy, _origin) =
            start(&policy(&json!({"headers": when, "legacy_headers": true}))).await;
        for (status, expected) in [(200, allowed), (200, allowed), (429, refused)] {
            let answer = get(&envoy, "/", "a").await;
            assert_eq!(answer.status, status, "{when}");
            for field in ["ratelimit", "ratelimit-policy", "x-ratelimit-limit"] {
                let found = answer.headers.contains_key(field);
                assert_eq!(found, expected, "{when}, {status}, {field}");
            }
            assert_eq!(answer.retry_after().is_some(), status == 429, "{when}");
        }
    }
}

#[tokio::test]
async fn b32_the_older_fields_tell_of_the_limit_nearest_to_refusing() {
    let more = json!({
        "legacy_headers": true,
        "limits": {
            "account": {"per": ["account"], "rate": "1/h", "burst": 2},
            "wide": {"per": ["account"], "rate": "2/h", "burst": 9},
        },
        "always": ["wide", "account"],
    });
    let (envoy, _origin) = start(&policy(&more)).await;
    let told = |answer: &Answer| -> Value {
        let fields = ["limit", "remaining", "reset"].map(|name| {
            let field = lines(answer, &format!("x-ratelimit-{name}"));
            assert_eq!(field.len(), 1);
            field[0].parse::<u64>().unwrap()
        });
        json!(fields)
    };
    assert_eq!(told(&get(&envoy, "/", "a").await), json!([2, 1, 3600]));
    assert_eq!(told(&get(&envoy, "/", "a").await), json!([2, 0, 3600]));
    let refused = get(&envoy, "/", "a").await;
    assert_eq!(refused.status, 429);
    assert_eq!(told(&refused), json!([2, 0, 3600]));
    assert_eq!(
        lines(&refused, "ratelimit"),
        [r#""wide";r=7;t=1800, "account";r=0;t=3600"#]
    );
}

/// Stored fields tell about another request, whether or not there is something to put in their place.
#[tokio::test]
async fn b30_a_stored_response_loses_its_fields_where_we_send_none_too() {
    let ways = [
        ("off", json!({"headers": "off"})),
        ("denied", json!({"headers": "denied"})),
        ("no limit", json!({"always": []})),
    ];
    let mut kept = Vec::new();
    for (way, more) in ways {
        let (envoy, _origin) = start(&policy(&more)).await;
        let fresh = with_fields(&envoy, "a", None).await;
        assert_eq!(names(&fresh, "ratelimit"), ["origin"], "{way}");
        let stored = with_fields(&envoy, "a", Some("5")).await;
        let fields = ["ratelimit", "ratelimit-policy"].into_iter();
        kept.extend(
            fields
                .filter(|field| stored.headers.contains_key(*field))
                .map(|field| (way, field)),
        );
    }
    assert_eq!(kept, []);
}
