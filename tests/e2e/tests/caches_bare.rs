//! Caches by themselves, without the module: the leak that it is there to close.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Answer, Client, Envoy, Origin};

/// What many an API says of all its answers.
const PUBLIC: &str = r#"[["cache-control", "public, max-age=60"]]"#;

/// The answer to this caller; its body names the caller whom the origin answered.
async fn ask(url: &str, caller: &str) -> Answer {
    let call = Client::h1().get(url).header("x-api-key", caller);
    let answer = call.header("x-origin-respond-headers", PUBLIC).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200);
    answer
}

/// Two callers ask for one path; the second gets what was made for the first.
async fn leaks(url: &str, origin: &Origin, path: &str) {
    let mine = ask(url, "alice").await;
    assert!(mine.text().contains("alice"), "{mine:?}");
    let theirs = ask(url, "bob").await;
    assert_eq!(theirs.text(), mine.text());
    assert_eq!(origin.count(path), 1);
}

#[tokio::test]
async fn each_cache_of_envoy_gives_one_caller_the_answer_of_another() {
    for cache in [Cache::V2, Cache::V1] {
        let origin = Origin::start().await.unwrap();
        let builder = Envoy::builder().origin(&origin).cache(cache);
        let envoy = builder.start().await.unwrap();
        leaks(&envoy.at("/mine"), &origin, "/mine").await;
    }
}
