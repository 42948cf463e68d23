//! A41: what in an Envoy configuration would send a request again by itself that the policy makes once.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use serde_json::{Value, json};
use tidegate_core::cases::retries;
use tidegate_core::policy::Policy;

fn policy(routes: Value) -> Policy {
    let mut document = json!({
        "policy": "p", "version": "1", "identity": {"account": [{"header": "x-account"}]},
    });
    document["routes"] = routes;
    let text = document.to_string();
    Policy::parse(text.as_bytes()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// One route with idempotency that matches like this.
fn charges(matcher: Value) -> Policy {
    policy(json!([{"name": "charges", "match": matcher, "idempotency": {"key": "required"}}]))
}

/// A route configuration with one host of these domains, and one route.
fn one(domains: &[&str], matcher: Value, action: Value) -> Value {
    json!({"virtual_hosts": [{"domains": domains, "routes": [{"match": matcher, "route": action}]}]})
}

fn eager() -> Value {
    json!({"cluster": "origin", "retry_policy": {"retry_on": "5xx"}})
}

/// The places of the warnings.
fn places(policy: &Policy, envoy: &Value) -> Vec<String> {
    retries(policy, envoy).into_iter().map(|w| w.path).collect()
}

const PLACE: &str = "$.virtual_hosts[0].routes[0].route.retry_policy";

#[test]
fn a41_a_route_that_tries_again_is_named_with_its_place() {
    let policy = charges(json!({"methods": ["POST"], "path": "/v1/charges"}));
    let action =
        json!({"cluster": "origin", "retry_policy": {"retry_on": "connect-failure, 5xx,reset"}});
    let routes = one(&["*"], json!({"prefix": "/"}), action);
    let shown: Vec<_> = retries(&policy, &routes)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "`$.virtual_hosts[0].routes[0].route.retry_policy`: on `5xx`, `reset` Envoy sends a request of the route `charges` again that the origin may have carried out, though its record is for one; leave `retry_policy` out for it, or retry on `connect-failure,refused-stream,reset-before-request` alone"
        ]
    );
}

#[test]
fn a41_a_bootstrap_and_what_is_in_it() {
    let policy = charges(json!({"path": "/v1/charges"}));
    let bootstrap = json!({"static_resources": {"listeners": [{"filter_chains": [{"filters": [
        {"name": "hcm", "typed_config": {"route_config": one(&["*"], json!({"prefix": "/"}), eager())}},
    ]}]}]}});
    let at =
        "$.static_resources.listeners[0].filter_chains[0].filters[0].typed_config.route_config";
    let place = "virtual_hosts[0].routes[0].route.retry_policy";
    assert_eq!(places(&policy, &bootstrap), [format!("{at}.{place}")]);
    // What a file for route discovery holds, as JSON of Protocol Buffers may spell it.
    let discovered = json!({"resources": [{"virtualHosts": [{"domains": ["*"], "routes": [
        {"match": {"prefix": "/"}, "route": {"cluster": "origin", "retryPolicy": {"retryOn": "5xx"}}},
    ]}]}]});
    assert_eq!(
        places(&policy, &discovered),
        ["$.resources[0].virtualHosts[0].routes[0].route.retryPolicy"]
    );
}

#[test]
fn a41_a_hosts_policy_holds_for_routes_without_their_own() {
    let policy = charges(json!({"path": "/v1/charges"}));
    let host = |own: Value| {
        json!({"virtual_hosts": [{
            "domains": ["*"], "retry_policy": {"retry_on": "gateway-error"}, "hedge_policy": {"hedge_on_per_try_timeout": true},
            "routes": [{"match": {"prefix": "/v1/"}, "route": own}, {"match": {"prefix": "/"}, "route": own}],
        }]})
    };
    assert_eq!(
        places(&policy, &host(json!({"cluster": "origin"}))),
        [
            "$.virtual_hosts[0].retry_policy",
            "$.virtual_hosts[0].hedge_policy"
        ]
    );
    let calm = json!({"cluster": "origin", "retry_policy": {"retry_on": ""}, "hedge_policy": {}});
    assert_eq!(places(&policy, &host(calm)), <[String; 0]>::default());
}

#[test]
fn a41_hedging_is_named_too() {
    let policy = charges(json!({"path": "/v1/charges"}));
    let action = json!({"cluster": "origin", "hedge_policy": {"hedge_on_per_try_timeout": true}});
    let warnings = retries(&policy, &one(&["*"], json!({"prefix": "/"}), action));
    assert_eq!(
        warnings[0].path,
        "$.virtual_hosts[0].routes[0].route.hedge_policy"
    );
    assert!(
        warnings[0]
            .message
            .starts_with("on `hedge_on_per_try_timeout` Envoy sends")
    );
}

#[test]
fn a41_what_reached_nobody_may_be_tried_again() {
    let policy = charges(json!({"path": "/v1/charges"}));
    for on in ["connect-failure", "refused-stream,connect-failure", "", " "] {
        let action = json!({"cluster": "origin", "retry_policy": {"retry_on": on}});
        assert_eq!(
            retries(&policy, &one(&["*"], json!({"prefix": "/"}), action)),
            []
        );
    }
}

#[test]
fn a41_only_routes_that_lead_to_one_with_idempotency() {
    let exact = json!({"path": "/v1/charges"});
    let prefix = json!({"path": "/v1/*"});
    let template = json!({"path": "/v1/charges/{id}/refunds"});
    let table = [
        (&exact, json!({"path": "/v1/charges"}), true),
        (&exact, json!({"path": "/v1/orders"}), false),
        (&exact, json!({"prefix": "/v1/ch"}), true),
        (&exact, json!({"prefix": "/v2"}), false),
        (&exact, json!({"path_separated_prefix": "/v1"}), true),
        (&exact, json!({"safe_regex": {"regex": "/v2/.*"}}), true),
        (
            &exact,
            json!({"path": "/V1/CHARGES", "case_sensitive": false}),
            true,
        ),
        (&prefix, json!({"path": "/v1/a"}), true),
        (&prefix, json!({"path": "/v2/a"}), false),
        (&prefix, json!({"prefix": "/v1/a/b"}), true),
        (&prefix, json!({"prefix": "/v"}), true),
        (&prefix, json!({"prefix": "/static"}), false),
        (&template, json!({"path": "/v1/charges/7/refunds"}), true),
        (&template, json!({"path": "/v1/charges/7"}), false),
        (&template, json!({"path": "/v1/charges/7/lines"}), false),
        (&template, json!({"prefix": "/v1/charges/"}), true),
        (&template, json!({"prefix": "/v1/charges/7/ref"}), true),
        (
            &template,
            json!({"prefix": "/v1/charges/7/refunds/"}),
            false,
        ),
        (&template, json!({"prefix": "/v1/orders/"}), false),
        (&template, json!({"prefix": ""}), true),
    ];
    for (own, matcher, expected) in table {
        let found = places(
            &charges(own.clone()),
            &one(&["*"], matcher.clone(), eager()),
        );
        assert_eq!(found == [PLACE], expected, "{own} {matcher}: {found:?}");
    }
}

#[test]
fn a41_hosts_and_methods_that_never_meet() {
    let policy = charges(json!({"host": "api.example.com", "path": "/v1/charges"}));
    for (domain, expected) in [
        ("*", true),
        ("api.example.com", true),
        ("API.example.com:443", true),
        ("*.example.com", true),
        ("api.*", true),
        ("www.example.com", false),
        ("*.example.org", false),
    ] {
        let found = places(
            &policy,
            &one(&["x.test", domain], json!({"prefix": "/"}), eager()),
        );
        assert_eq!(found == [PLACE], expected, "{domain}");
    }
    let method = |name: &str| {
        let asks = json!([{"name": ":method", "string_match": {"exact": name}}]);
        one(&["*"], json!({"prefix": "/", "headers": asks}), eager())
    };
    let any = charges(json!({"path": "/v1/charges"}));
    let put = charges(json!({"path": "/v1/charges", "methods": ["PUT"]}));
    for (name, by_any, by_put) in [
        ("POST", true, false),
        ("PATCH", true, false),
        ("GET", false, false),
        ("PUT", false, true),
        ("DELETE", false, false),
    ] {
        assert_eq!(places(&any, &method(name)) == [PLACE], by_any, "{name}");
        assert_eq!(places(&put, &method(name)) == [PLACE], by_put, "{name}");
    }
}

#[test]
fn a41_events_count_where_the_policy_holds_them() {
    let events = |unknown: &str| {
        let dedupe = json!({"by": [{"header": "webhook-id"}], "unknown": unknown});
        policy(json!([{"name": "events", "dedupe": dedupe}, {"name": "rest"}]))
    };
    let envoy = one(&["*"], json!({"prefix": "/"}), eager());
    assert_eq!(places(&events("hold"), &envoy), [PLACE]);
    assert_eq!(retries(&events("retry"), &envoy), []);
    assert_eq!(retries(&policy(json!([{"name": "rest"}])), &envoy), []);
}

#[test]
fn a41_what_is_no_configuration_says_nothing() {
    let policy = charges(json!({}));
    for envoy in [
        json!(null),
        json!([1, "a"]),
        json!({"virtual_hosts": 1}),
        json!({"virtual_hosts": [null, {"routes": [null, {"route": 1}, {"route": {"retry_policy": []}}]}]}),
        json!({"virtual_hosts": [{"routes": [{"redirect": {}, "match": {"prefix": "/"}}], "retry_policy": {"retry_on": "5xx"}}]}),
    ] {
        assert_eq!(retries(&policy, &envoy), [], "{envoy}");
    }
}
