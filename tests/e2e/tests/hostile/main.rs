//! Requests that no well-behaved client sends. After each of them the same workers go on, with the same buckets.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod headers;
mod paths;
mod reserved;

use serde_json::json;
use tidegate_e2e::envoy::Vms;
use tidegate_e2e::{Answer, Client, Envoy, Origin, structured};

const WORKERS: u32 = 2;

/// An Envoy that is asked odd things, and what has to be as it was afterwards.
struct Bench {
    envoy: Envoy,
    origin: Origin,
    vms: Vms,
}

impl Bench {
    /// Starts it; `drained` has used up its bucket of three, `partly` one of its three.
    async fn start() -> Self {
        let origin = Origin::start().await.unwrap();
        let envoy = Envoy::builder()
            .concurrency(WORKERS)
            .max_headers(3_000, 256)
            .underscores("ALLOW")
            .origin(&origin)
            .policy(&json!({
                "policy": "hostile", "version": "1",
                "identity": {"account": [{"header": "x-account"}]},
                "limits": {
                    "account": {"per": ["account"], "rate": "1/h", "burst": 3},
                    "all": {"per": ["route"], "rate": "1000000/s", "burst": 1_000_000},
                },
                "always": ["all"],
                "routes": [
                    {"name": "own", "match": {"path": "/own"}, "limits": ["account"]},
                    {"name": "any"},
                ],
            }))
            .start()
            .await
            .unwrap();
        // One on each worker, one of the main thread, and the one that all are made after.
        let vms = envoy.vms().await.unwrap();
        assert!(vms.active >= u64::from(WORKERS), "{vms:?}");
        let bench = Self { envoy, origin, vms };
        for _ in 0..3 {
            assert_eq!(bench.own("drained").await.status, 200);
        }
        assert_eq!(bench.own("partly").await.status, 200);
        bench
    }

    async fn own(&self, account: &str) -> Answer {
        let call = Client::h1().get(self.envoy.at("/own"));
        call.header("x-account", account).send().await.unwrap()
    }

    /// Both workers answer, no VM was lost on the way, and buckets hold what they held.
    async fn conclude(self) {
        for _ in 0..16 {
            assert_eq!(self.own("drained").await.status, 429);
        }
        let answer = self.own("partly").await;
        let left = structured::remaining(&answer.headers).unwrap();
        assert_eq!(left[1], ("account".to_owned(), 1), "{}", answer.text());
        assert_eq!(self.envoy.vms().await.unwrap(), self.vms);
        let log = self.envoy.log();
        for word in [
            "panic",
            "Uncaught",
            "unreachable",
            "wasm failed",
            "Function: proxy",
        ] {
            assert!(!log.contains(word), "{word}: {log}");
        }
        for name in ["tidegate_store_errors", "tidegate_swaps_given_up"] {
            assert_eq!(self.envoy.counter(name).await.unwrap(), 0, "{name}");
        }
    }
}
