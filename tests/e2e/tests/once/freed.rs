//! What never reached the origin frees the key.

use std::net::SocketAddr;

use serde_json::json;
use tidegate_e2e::Envoy;
use tidegate_e2e::envoy::Builder;
use tokio::net::TcpListener;

use crate::script::Script;
use crate::stand::{Played, Stand, charge, policy, settled, within};
use crate::{is_problem, is_replay, is_replay_of};

#[tokio::test]
async fn a21_an_origin_that_is_not_there_frees_the_key() {
    // Nobody listens at this address, for now.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = free.local_addr().unwrap();
    drop(free);
    let envoy = Envoy::builder()
        .policy(&policy(&json!({"key": "required"})))
        .origin_at(address)
        .h1_to_origin();
    let envoy = envoy.start().await.unwrap();
    for _ in 0..2 {
        let refused = charge(&envoy, "k").send().await.unwrap();
        assert_eq!(refused.status, 503, "{refused:?}");
        assert!(refused.text().contains("connection failure"), "{refused:?}");
    }
    let origin = Script::at(address).await;
    let made = charge(&envoy, "k").send().await.unwrap();
    assert_eq!(made.status, 200, "{made:?}");
    is_replay_of(&charge(&envoy, "k").send().await.unwrap(), &made);
    assert_eq!(origin.count(), 1);
}

#[tokio::test]
async fn a21_what_envoy_answers_itself_frees_the_key() {
    let stop = |by: &str| json!({"name": "x-stop", "string_match": {"exact": by}});
    let rbac = json!({
        "name": "envoy.filters.http.rbac",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
            "rules": {"action": "DENY", "policies": {"stop": {
                "permissions": [{"header": stop("rbac")}], "principals": [{"any": true}],
            }}},
        },
    });
    let fault = json!({
        "name": "envoy.filters.http.fault",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault",
            "abort": {"http_status": 500, "percentage": {"numerator": 100}},
            "headers": [stop("fault")],
        },
    });
    let route = |by: &str, name: &str, action| {
        let mut route = json!({"match": {"prefix": "/", "headers": [stop(by)]}});
        route[name] = action;
        route
    };
    let mut routes = vec![
        route("direct", "direct_response", json!({"status": 418})),
        route("redirect", "redirect", json!({"path_redirect": "/x"})),
        // There is no cluster of this name.
        route("cluster", "route", json!({"cluster_header": "x-stop"})),
    ];
    routes.extend(within("5s"));
    let rule = policy(&json!({"key": "required"}));
    let change = |b: Builder| b.filter_after(rbac).filter_after(fault).routes(routes);
    let stand = Played::start(&rule, change).await;
    let cases = [
        ("rbac", 403),
        ("fault", 500),
        ("direct", 418),
        ("redirect", 301),
        ("cluster", 503),
    ];
    for (by, status) in cases {
        stand.origin.forget();
        for _ in 0..2 {
            let call = charge(&stand.envoy, by).header("x-stop", by);
            let stopped = call.send().await.unwrap();
            assert_eq!(stopped.status, status, "{by}: {stopped:?}");
            assert!(!is_replay(&stopped), "{by}");
        }
        assert_eq!(stand.origin.count(), 0, "{by}");
        let made = charge(&stand.envoy, by).send().await.unwrap();
        assert_eq!(made.status, 200, "{by}: {made:?}");
        is_replay_of(&charge(&stand.envoy, by).send().await.unwrap(), &made);
        assert_eq!(stand.origin.count(), 1, "{by}");
    }
}

#[tokio::test]
async fn a_call_of_ours_that_has_no_cluster_is_refused_and_frees_the_key() {
    let stop = json!({"prefix": "/", "headers": [{"name": "x-stop", "present_match": true}]});
    let mut routes = vec![json!({"match": stop, "direct_response": {"status": 418}})];
    routes.extend(within("5s"));
    let rule = policy(&json!({"key": "required", "execution": "detached", "timeout": "1s"}));
    let stand = Played::start(&rule, |b| b.routes(routes)).await;
    let stopped = charge(&stand.envoy, "k").header("x-stop", "here");
    is_problem(&stopped.send().await.unwrap(), 400, "not-recordable");
    assert_eq!(stand.origin.count(), 0);
    let made = charge(&stand.envoy, "k").send().await.unwrap();
    assert_eq!(made.status, 200, "{made:?}");
    is_replay_of(&charge(&stand.envoy, "k").send().await.unwrap(), &made);
    assert_eq!(stand.origin.count(), 1);
}

#[tokio::test]
async fn a21_no_healthy_host_and_no_room_free_the_key() {
    let rule = policy(&json!({"key": "required"}));
    let nobody = json!({"load_assignment": {"cluster_name": "origin", "endpoints": []}});
    let full = json!({"circuit_breakers": {"thresholds": [{"max_pending_requests": 0}]}});
    for (cluster, said) in [(nobody, "no healthy upstream"), (full, "overflow")] {
        let stand = Played::start(&rule, |b| b.cluster(cluster)).await;
        for _ in 0..3 {
            let refused = charge(&stand.envoy, "k").send().await.unwrap();
            assert_eq!(refused.status, 503, "{said}: {refused:?}");
            assert!(refused.text().contains(said), "{refused:?}");
        }
        assert_eq!(stand.origin.count(), 0);
    }
}

#[tokio::test]
async fn a21_a_body_above_envoys_buffer_frees_the_key() {
    let stand = Stand::of(json!({"key": "required", "max_body": "8MiB"})).await;
    let large = charge(&stand.envoy, "k").body(vec![b'x'; 3_000_000]);
    // Envoy may close before all of it was sent.
    if let Ok(large) = large.send().await {
        assert_eq!(large.status, 413, "{large:?}");
    }
    assert_eq!(stand.origin.total(), 0);
    let made = settled(&stand.envoy, "k").await;
    assert_eq!(made.status, 200, "{made:?}");
    assert!(!is_replay(&made));
    assert_eq!(stand.origin.total(), 1);
}
