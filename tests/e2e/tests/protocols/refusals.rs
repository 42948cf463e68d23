//! Refusals over HTTP/1.1 and HTTP/2, to GET and HEAD; what is refused is nobody's work.

use http::{Method, StatusCode, Version};
use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::{Client, structured};

use crate::{get, policy, send, start};

#[tokio::test]
async fn b33_head_is_refused_with_the_headers_of_get_and_no_body() {
    let (envoy, _origin) = start(&policy(&json!({}))).await;
    for (client, version) in [
        (Client::h1(), Version::HTTP_11),
        (Client::h2(), Version::HTTP_2),
    ] {
        let account = format!("{version:?}");
        let ask = async |method: Method| {
            send(
                client
                    .call(method, envoy.at("/"))
                    .header("x-account", &account),
            )
            .await
        };
        for _ in 0..2 {
            assert_eq!(ask(Method::HEAD).await.status, 200);
        }
        let get = ask(Method::GET).await;
        let head = ask(Method::HEAD).await;
        for answer in [&get, &head] {
            assert_eq!(
                (answer.status, answer.version),
                (StatusCode::TOO_MANY_REQUESTS, version)
            );
            assert_eq!(
                answer.header("content-type"),
                Some("application/problem+json")
            );
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!(answer.retry_after(), Some(3600));
            let policies = structured::list(&answer.headers, "ratelimit-policy").unwrap();
            assert_eq!(
                (policies[0].integer("q"), policies[0].integer("w")),
                (Some(2), Some(7200))
            );
            let left = structured::list(&answer.headers, "ratelimit").unwrap();
            assert_eq!(
                (left[0].integer("r"), left[0].integer("t")),
                (Some(0), Some(3600))
            );
        }
        let names = |answer: &tidegate_e2e::Answer| {
            let mut names: Vec<_> = answer.headers.keys().cloned().collect();
            names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
            names
        };
        assert_eq!(names(&head), names(&get));
        assert!(head.body.is_empty());
        let problem = get.problem().unwrap();
        assert_eq!(problem["violated-policies"], json!(["account"]));
        assert_eq!(problem["limits"][0]["burst"], 2);
    }
}

#[tokio::test]
async fn b15_b16_b28_b29_every_refusal_is_a_problem_and_never_reaches_the_origin() {
    let (envoy, origin) = start(&policy(&json!({}))).await;
    for _ in 0..2 {
        assert_eq!(get(&envoy, "/", "drained").await.status, 200);
    }
    let before = origin.total();
    let client = Client::h1();
    let at = |path: &str| client.get(envoy.at(path));
    let twice = |call: Call| call.header("x-account", "a").header("x-account", "b");
    let table = [
        (
            at("/").header("x-account", "drained"),
            429,
            "quota-exceeded",
            "tidegate_quota-exceeded",
        ),
        (
            twice(at("/")),
            400,
            "identity-ambiguous",
            "tidegate_identity-ambiguous",
        ),
        (
            at("/closed"),
            401,
            "identity-required",
            "tidegate_identity-required",
        ),
        (
            at("/weighed").header("x-cost", "3"),
            400,
            "cost-exceeds-burst",
            "tidegate_cost-exceeds-burst",
        ),
        (
            at("/weighed").header("x-cost", "much"),
            400,
            "cost-invalid",
            "tidegate_cost-invalid",
        ),
        (
            at("/").header("x-tidegate-scope", "mine"),
            400,
            "reserved-name",
            "tidegate_reserved-name",
        ),
    ];
    for (number, (call, status, kind, details)) in table.into_iter().enumerate() {
        let id = format!("00000000-0000-4000-8000-00000000000{number}");
        // Envoy keeps the id of a client that it trusts; otherwise it makes one.
        let answer = send(call.header("x-request-id", &id)).await;
        assert_eq!(answer.status.as_u16(), status, "{kind}");
        let problem = answer.problem().unwrap();
        let shown = problem["type"].as_str().unwrap();
        assert!(shown.ends_with(kind), "{shown}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{kind}");
        assert_eq!(answer.header("cache-status"), None, "{kind}");
        assert_eq!(answer.retry_after().is_some(), status == 429, "{kind}");
        assert_eq!(
            answer.header("www-authenticate").is_some(),
            status == 401,
            "{kind}"
        );
        let instance = problem["instance"].as_str().unwrap().to_owned();
        let line = tidegate_e2e::eventually(std::time::Duration::from_secs(10), async || {
            let log = envoy.access_log()?;
            let line = log.into_iter().find(|line| line["request_id"] == *instance);
            line.ok_or_else(|| anyhow::anyhow!("no {instance}"))
        });
        assert_eq!(line.await.unwrap()["details"], details);
    }
    assert_eq!(origin.total(), before);
}
