//! Limits before a cache: what the gate refuses is nobody's copy.

use serde_json::json;

use crate::stand::{Kind, Setup, policy};
use crate::{PUBLIC, is_clean};

#[tokio::test]
async fn b28_a_refusal_is_in_no_cache() {
    for kind in [Kind::V2, Kind::V1, Kind::Varnish, Kind::Nginx] {
        if kind.skipped() {
            continue;
        }
        let mut policy = policy(kind);
        policy["limits"] = json!({"account": {"per": ["account"], "rate": "1/h", "burst": 2}});
        policy["always"] = json!(["account"]);
        let stand = Setup::new(kind).policy(policy).start().await;
        for path in ["/public/x", "/public/x"] {
            assert_eq!(stand.get(path, "amy", PUBLIC).await.status, 200, "{kind:?}");
        }
        // Of what there is a copy, of what there is none, and of what is her own.
        for path in ["/public/x", "/public/y", "/mine/y"] {
            for _ in 0..2 {
                let refused = stand.get(path, "amy", PUBLIC).await;
                assert_eq!(refused.status, 429, "{kind:?} {path}");
                assert_eq!(refused.header("cache-control"), Some("no-store"));
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
