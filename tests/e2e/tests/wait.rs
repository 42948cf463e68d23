//! `Retry-After` means what it says: real waits, of the length that the answer prescribes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_e2e::{Answer, Client, Envoy, structured};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Paths, the limits they have, and what their first refusal prescribes.
const ROUTES: [(&str, &[&str], u64); 6] = [
    ("/one-second", &["one-second"], 1),
    ("/two-seconds", &["two-seconds"], 2),
    ("/three-seconds", &["three-seconds"], 3),
    ("/two-units", &["two-units"], 2),
    ("/shorter-and-longer", &["one-second", "three-seconds"], 3),
    ("/longer-and-shorter", &["three-seconds", "one-second"], 3),
];

fn policy() -> Value {
    let own =
        |rate: &str, burst: u64| json!({"per": ["account", "route"], "rate": rate, "burst": burst});
    let mut routes: Vec<Value> = ROUTES
        .iter()
        .map(|(path, limits, _)| {
            let cost = if *path == "/two-units" { 2 } else { 1 };
            json!({"name": path.trim_start_matches('/'), "match": {"path": path}, "limits": limits, "cost": cost})
        })
        .collect();
    routes.push(
        json!({"name": "tenant", "match": {"path": "/tenant"}, "limits": ["ceiling", "slow"]}),
    );
    json!({
        "policy": "wait", "version": "1",
        "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"header": "x-account"}]},
        "limits": {
            "one-second": own("60/min", 1), "two-seconds": own("30/min", 1), "three-seconds": own("20/min", 1),
            "two-units": own("60/min", 2), "slow": own("1/h", 5),
            "ceiling": {"per": ["tenant"], "rate": "30/min", "burst": 2},
        },
        "routes": routes,
    })
}

async fn start() -> Envoy {
    let envoy = Envoy::builder().concurrency(2).policy(&policy());
    envoy.start().await.unwrap()
}

/// A request over a connection of its own, so through any worker.
async fn get(url: &str, tenant: &str, account: &str) -> Answer {
    let call = Client::h1().get(url).header("x-tenant", tenant);
    call.header("x-account", account).send().await.unwrap()
}

/// The seconds that a refusal prescribes, and from when they count.
fn refusal(answer: &Answer) -> (Duration, Instant) {
    assert_eq!(answer.status, 429, "{}", answer.text());
    let seconds = answer.retry_after().unwrap();
    (Duration::from_secs(seconds), Instant::now())
}

fn violated(answer: &Answer) -> Value {
    answer.problem().unwrap()["violated-policies"].take()
}

#[tokio::test]
async fn b3_b7_waiting_exactly_retry_after_is_admitted_and_one_second_earlier_is_not() {
    let envoy = start().await;
    let mut running = JoinSet::new();
    for (path, limits, seconds) in ROUTES {
        let url = envoy.at(path);
        running.spawn(async move {
            assert_eq!(get(&url, "t", "waits").await.status, 200, "{url}");
            let answer = get(&url, "t", "waits").await;
            let (wait, since) = refusal(&answer);
            assert_eq!(wait.as_secs(), seconds, "{url}");
            assert_eq!(violated(&answer), json!(limits), "{url}");
            if seconds > 1 {
                sleep_until(since + wait - Duration::from_secs(1)).await;
                let answer = get(&url, "t", "waits").await;
                assert_eq!(refusal(&answer).0.as_secs(), 1, "{url}");
            }
            sleep_until(since + wait).await;
            assert_eq!(get(&url, "t", "waits").await.status, 200, "{url}");
            assert_eq!(get(&url, "t", "waits").await.status, 429, "{url}");
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn b9_hammering_does_not_lengthen_the_wait() {
    let envoy = start().await;
    let url = envoy.at("/two-seconds");
    assert_eq!(get(&url, "t", "hammers").await.status, 200);
    let (wait, since) = refusal(&get(&url, "t", "hammers").await);
    // It ends before the wait does: none of these requests may be the one that is admitted.
    let end = since + wait - Duration::from_millis(200);
    let (mut sent, mut last) = (0, wait);
    while Instant::now() < end {
        let (now, _) = refusal(&get(&url, "t", "hammers").await);
        assert!(now <= last, "{now:?} after {last:?}");
        last = now;
        sent += 1;
    }
    assert!(sent > 100, "only {sent} requests");
    assert_eq!(last.as_secs(), 1);
    sleep_until(since + wait).await;
    assert_eq!(get(&url, "t", "hammers").await.status, 200);
}

#[tokio::test]
async fn b8_a_tenant_ceiling_refuses_before_the_account_is_charged() {
    let envoy = start().await;
    let url = envoy.at("/tenant");
    for _ in 0..2 {
        assert_eq!(get(&url, "t", "amy").await.status, 200);
    }
    let answer = get(&url, "t", "bob").await;
    let (wait, since) = refusal(&answer);
    assert_eq!((wait.as_secs(), violated(&answer)), (2, json!(["ceiling"])));
    for _ in 0..20 {
        refusal(&get(&url, "t", "bob").await);
    }
    sleep_until(since + wait).await;
    let answer = get(&url, "t", "bob").await;
    assert_eq!(answer.status, 200);
    let left = structured::remaining(&answer.headers).unwrap();
    assert_eq!(left, [("ceiling".to_owned(), 0), ("slow".to_owned(), 4)]);
}

/// What a worker remembers of a refusal is that it holds. What the other limits say moves on, and so does the wait.
#[tokio::test]
async fn b7_a_refusal_soon_after_another_names_every_limit_that_refuses_by_then() {
    let policy = json!({
        "policy": "soon-after", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {
            "account": {"per": ["account"], "rate": "1/min", "burst": 3},
            "writes": {"per": ["account"], "rate": "20/min", "burst": 1},
        },
        "always": ["account"],
        "routes": [{"name": "write", "match": {"path": "/write"}, "limits": ["writes"]}],
    });
    let envoy = Envoy::builder().policy(&policy).start().await.unwrap();
    let get = async |path: &str| get(&envoy.at(path), "t", "amy").await;
    assert_eq!(get("/write").await.status, 200);
    let first = get("/write").await;
    assert_eq!(
        (refusal(&first).0.as_secs(), violated(&first)),
        (3, json!(["writes"]))
    );
    for _ in 0..2 {
        assert_eq!(get("/read").await.status, 200);
    }
    let second = get("/write").await;
    assert_eq!(violated(&second), json!(["account", "writes"]));
    assert_eq!(refusal(&second).0.as_secs(), 60);
}
