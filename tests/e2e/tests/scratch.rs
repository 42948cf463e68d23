#![allow(clippy::unwrap_used, reason = "scratch")]
use serde_json::json;
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Client, Envoy, Origin, Reply};

#[tokio::test]
async fn scratch() {
    for cache in [Cache::V2, Cache::V1] {
        let origin = Origin::start().await.unwrap();
        let policy = json!({"policy": "c", "version": "1", "identity": {"account": [{"header": "x-api-key", "secret": true}]},
        "routes": [{"name": "all", "match": {"path": "/s/*"}, "cache": {"scope": ["account"], "by": "path"}}]});
        let envoy = Envoy::builder()
            .origin(&origin)
            .policy(&policy)
            .origin_role()
            .cache(cache)
            .environment("TIDEGATE_SCOPE_KEY", "k")
            .start()
            .await
            .unwrap();
        let client = Client::h1();
        for key in ["a", "b", "a", "b", ""] {
            for i in 0..2 {
                let mut c = client.get(envoy.at("/s/x?y=1")).header(
                    "x-origin-respond-headers",
                    r#"[["cache-control","public, max-age=60"],["etag","\"e\""]]"#,
                );
                if !key.is_empty() {
                    c = c.header("x-api-key", key);
                }
                let a = c.send().await.unwrap();
                println!("{key} {} {:?}\n   {}", a.status, a.headers, a.text());
            }
        }
        let a = client
            .get(envoy.at("/s/x?y=1"))
            .header("x-api-key", "a")
            .header("if-none-match", "\"e\"")
            .send()
            .await
            .unwrap();
        println!("304? {} {:?}", a.status, a.headers);
        let a = client
            .post(envoy.at("/s/x?z=1"))
            .header("x-api-key", "a")
            .send()
            .await
            .unwrap();
        println!("post {} {:?}", a.status, a.headers);
        let n = origin.total();
        let a = client
            .get(envoy.at("/s/x?y=1"))
            .header("x-api-key", "a")
            .send()
            .await
            .unwrap();
        println!(
            "get after {} {:?} {}",
            a.status,
            a.headers,
            origin.total() - n
        );
        let a = client
            .get(envoy.at("/unlisted"))
            .header("x-api-key", "a")
            .send()
            .await
            .unwrap();
        println!("unlisted {} {:?} {}", a.status, a.headers, a.text());
        println!(
            "seen {:?}",
            origin
                .seen("/s/x")
                .iter()
                .map(|s| s.path.clone())
                .collect::<Vec<_>>()
        );
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        for l in envoy.access_log().unwrap() {
            println!("{l}");
        }
        println!("{}", envoy.log());
    }
}
