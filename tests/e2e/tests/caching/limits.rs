//! Limits before a cache: what the gate refuses is nobody's copy, and what it says of a quota is its reader's.

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_e2e::{Answer, structured};

use crate::stand::{Kind, Setup, policy};
use crate::{PUBLIC, is_clean};

/// Two requests an hour for each account.
fn limited(kind: Kind) -> Value {
    let mut policy = policy(kind);
    policy["limits"] = json!({"account": {"per": ["account"], "rate": "1/h", "burst": 2}});
    policy["always"] = json!(["account"]);
    policy
}

#[tokio::test]
async fn b28_b29_a_refusal_is_in_no_cache() {
    for kind in [Kind::V2, Kind::V1, Kind::Varnish, Kind::Nginx] {
        if kind.skipped() {
            continue;
        }
        let stand = Setup::new(kind).policy(limited(kind)).start().await;
        for path in ["/public/x", "/public/x"] {
            assert_eq!(stand.get(path, "amy", PUBLIC).await.status, 200, "{kind:?}");
        }
        // Of what there is a copy, of what there is none, and of what is her own.
        for path in ["/public/x", "/public/y", "/mine/y"] {
            for _ in 0..2 {
                let refused = stand.get(path, "amy", PUBLIC).await;
                assert_eq!(refused.status, 429, "{kind:?} {path}");
                assert_eq!(refused.header("cache-control"), Some("no-store"));
                assert_eq!(refused.header("cache-status"), None, "{kind:?} {path}");
                is_clean(&refused);
            }
        }
        for (caller, path, asked) in [
            ("bob", "/public/x", 1),
            ("bob", "/public/y", 1),
            ("cat", "/public/y", 1),
            ("cat", "/mine/y", 1),
        ] {
            let answer = stand.get(path, caller, PUBLIC).await;
            assert_eq!(answer.status, 200, "{kind:?} {caller} {path}");
            assert_eq!(stand.origin.count(path), asked, "{kind:?} {caller} {path}");
        }
    }
}

/// nginx adds no `Age`, by which a copy of another server is known.
#[tokio::test]
async fn b30_a_copy_carries_the_fields_of_its_reader_alone() {
    let say = [
        PUBLIC[0],
        ("ratelimit", "\"origin\";r=3;t=9"),
        ("ratelimit-policy", "\"origin\";q=5;w=10"),
    ];
    let left = |answer: &Answer| structured::remaining(&answer.headers).unwrap();
    let of = |name: &str, left| (name.to_owned(), left);
    for kind in [Kind::V2, Kind::V1, Kind::Varnish] {
        if kind.skipped() {
            continue;
        }
        let stand = Setup::new(kind).policy(limited(kind)).start().await;
        let miss = stand.get("/public/x", "amy", &say).await;
        assert_eq!(left(&miss), [of("origin", 3), of("account", 1)], "{kind:?}");
        if kind == Kind::Varnish {
            // Its copy is known by an `Age` above 0.
            tokio::time::sleep(Duration::from_millis(1_100)).await;
        }
        for (caller, expected) in [("bob", 1), ("bob", 0), ("amy", 0)] {
            let hit = stand.get("/public/x", caller, &say).await;
            assert_eq!(left(&hit), [of("account", expected)], "{kind:?} {caller}");
            let policies = structured::list(&hit.headers, "ratelimit-policy").unwrap();
            assert_eq!((policies.len(), &*policies[0].name), (1, "account"));
        }
        assert_eq!(stand.origin.count("/public/x"), 1, "{kind:?}");
    }
}
