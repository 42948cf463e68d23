//! Documents without mistakes, and the values that they mean.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "policy_documents/mod.rs"]
mod policy_documents;

use policy_documents::{ENFORCED, EVERYTHING, GOOD, SMALLEST, STOREFRONT};
use tidegate_core::policy::{
    AddressRule, Anonymous, By, Cache, CacheBy, Cost, Dimension, EventSource, Execution,
    Fingerprint, Idempotency, IdentityRules, Limit, LimitId, Mode, OwnerRule, PathPattern, Policy,
    RateLimitHeaders, RouteMatch, SanType, Scope, Segment, SignedAddressRule, Source, SourceKind,
    StoreErrorRule, UnknownRule,
};
use tidegate_core::quota::{NANOS_PER_SEC, Period, Quota, Rate};
use tidegate_core::records::Room;

const MINUTE: u64 = 60 * NANOS_PER_SEC;
const HOUR: u64 = 60 * MINUTE;

fn check(text: &str) -> Policy {
    match Policy::check(text.as_bytes()) {
        Ok(checked) => checked.policy,
        Err(mistakes) => panic!("{mistakes:#?}"),
    }
}

fn quota(units: u64, period: Period, burst: u64) -> Quota {
    Quota::new(Rate::new(units, period).unwrap(), burst).unwrap()
}

fn refused(text: &str) -> Vec<String> {
    let mistakes = Policy::parse(text.as_bytes()).unwrap_err();
    mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn every_good_document_checks() {
    for text in GOOD {
        check(text);
    }
}

#[test]
fn the_contracts_example_is_enforced() {
    let policy = Policy::parse(STOREFRONT.as_bytes()).unwrap();
    let [search, charges, events, catalogue] = policy.routes.as_slice() else {
        panic!("four routes");
    };
    assert_eq!(
        (&search.idempotency, &catalogue.idempotency),
        (&None, &None)
    );
    assert_eq!(
        charges.idempotency,
        Some(Idempotency {
            by: By::Key {
                required: true,
                lenient: true,
                max_length: 255,
                fingerprint: Fingerprint::Body,
                release: [429, 503].into(),
            },
            ttl: 24 * HOUR,
            lease: MINUTE,
            max_body: 1 << 20,
            unknown: UnknownRule::Hold,
            execution: Execution::Inline,
        })
    );
    assert_eq!(
        events.idempotency,
        Some(Idempotency {
            by: By::Event {
                sources: vec![
                    EventSource::Header("webhook-id".to_owned()),
                    EventSource::Json("/data/id".to_owned()),
                ],
                status: None,
            },
            ttl: 80 * HOUR,
            lease: MINUTE,
            max_body: 1 << 20,
            unknown: UnknownRule::Retry,
            execution: Execution::Inline,
        })
    );
}

#[test]
fn each_part_that_is_not_enforced_yet_is_named() {
    let rest = "not enforced by this version; remove it, or use a version that enforces it";
    assert_eq!(
        refused(EVERYTHING),
        [format!("`$.store`: a store other than `local` is {rest}")]
    );
    let checked = Policy::check(EVERYTHING.as_bytes()).unwrap();
    let listed: Vec<String> = checked
        .not_enforced
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(listed, refused(EVERYTHING));
}

#[test]
fn every_key_about_requests_that_come_again_means_what_it_says() {
    let policy = check(EVERYTHING);
    assert_eq!(policy.store_full, StoreErrorRule::Pass);
    assert_eq!(
        policy.room,
        Room {
            records: 100_000,
            bytes: 64 << 20
        }
    );
    let [_, charges, words, events] = policy.routes.as_slice() else {
        panic!("four routes");
    };
    assert_eq!(
        charges.idempotency,
        Some(Idempotency {
            by: By::Key {
                required: false,
                lenient: false,
                max_length: 64,
                fingerprint: Fingerprint::Json(vec!["/amount".to_owned(), "/a~1b".to_owned()]),
                release: [429, 503, 504].into(),
            },
            ttl: 7 * 24 * HOUR,
            lease: 2 * MINUTE,
            max_body: 64 << 10,
            unknown: UnknownRule::Retry,
            execution: Execution::Detached { timeout: 1500 },
        })
    );
    let Some(Idempotency {
        by: By::Key {
            required,
            fingerprint,
            ..
        },
        ..
    }) = &words.idempotency
    else {
        panic!("by a key");
    };
    assert!(required);
    assert_eq!(fingerprint, &Fingerprint::KeyOnly);
    assert_eq!(
        events.idempotency,
        Some(Idempotency {
            by: By::Event {
                sources: vec![
                    EventSource::Header("webhook-id".to_owned()),
                    EventSource::Json("/id".to_owned()),
                    EventSource::Digest,
                ],
                status: Some(204),
            },
            ttl: 80 * HOUR,
            lease: 90 * NANOS_PER_SEC,
            max_body: 1 << 20,
            unknown: UnknownRule::Hold,
            execution: Execution::Inline,
        })
    );
}

#[test]
fn a_detached_call_has_the_timeout_of_an_envoy_route_where_it_does_not_say() {
    let text = r#"{"policy": "p", "version": "1", "identity": {"tenant": [{"jwt": "t"}]},
        "routes": [{"name": "r", "idempotency": {"key": "required", "execution": "detached"}}]}"#;
    let execution = check(text).routes[0]
        .idempotency
        .as_ref()
        .map(|i| i.execution);
    assert_eq!(execution, Some(Execution::Detached { timeout: 15_000 }));
}

#[test]
fn what_is_left_out_has_its_default() {
    let policy = Policy::parse(SMALLEST.as_bytes()).unwrap();
    assert_eq!(
        policy,
        Policy {
            name: "p".to_owned(),
            version: "1".to_owned(),
            mode: Mode::Enforce,
            canary: None,
            identity: IdentityRules {
                tenant: Vec::new(),
                account: Vec::new(),
                plan: Vec::new(),
                address: AddressRule {
                    ipv6_prefix: 64,
                    signed: None,
                },
            },
            limits: Vec::new(),
            always: Vec::new(),
            routes: Vec::new(),
            problem_base: None,
            headers: RateLimitHeaders::Always,
            legacy_headers: false,
            store_error: StoreErrorRule::Reject,
            store_full: StoreErrorRule::Reject,
            room: Room {
                records: 4096,
                bytes: 64 << 20,
            },
            notify: None,
            admin: tidegate_core::policy::Admin::default(),
        }
    );
}

#[test]
fn cache_scopes_mean_what_they_say() {
    let routes = check(STOREFRONT).routes;
    let cache = |scope, by| Cache {
        scope,
        by,
        sealed: true,
        owner: None,
    };
    let own = Scope::Shared(vec![Dimension::Tenant, Dimension::Account]);
    assert_eq!(routes[0].cache, Some(cache(own, CacheBy::Path)));
    assert_eq!(routes[1].cache, None);
    assert_eq!(routes[3].cache, Some(cache(Scope::Public, CacheBy::Path)));
    let everything = &check(EVERYTHING).routes[0];
    assert_eq!(
        everything.cache,
        Some(Cache {
            scope: Scope::Shared(vec![
                Dimension::Tenant,
                Dimension::Header("x-region".to_owned())
            ]),
            by: CacheBy::Header,
            sealed: false,
            owner: Some(OwnerRule {
                header: "x-owner".to_owned(),
                names: Dimension::Tenant,
            }),
        })
    );
}

#[test]
fn the_example_limits_mean_what_they_say() {
    let policy = check(STOREFRONT);
    let names: Vec<&str> = policy
        .limits
        .iter()
        .map(|limit| limit.name.as_str())
        .collect();
    assert_eq!(names, ["account", "charges", "tenant-ceiling"]);
    assert_eq!(policy.always, [LimitId(2), LimitId(0)], "the order written");
    let account = &policy.limits[0];
    assert_eq!(account.per, [Dimension::Tenant, Dimension::Account]);
    assert_eq!(account.otherwise, Dimension::Address);
    assert_eq!(account.quota, quota(60, Period::Minute, 10));
    assert_eq!(account.plans["paid"], quota(600, Period::Minute, 100));
    assert_eq!(account.max_keys, 65_536);
    assert!(!account.shadow);
    let charges = &policy.routes[1];
    assert_eq!(charges.limits, [LimitId(1)]);
    assert_eq!(charges.cost, Cost::Fixed(1));
    assert_eq!(charges.anonymous, Anonymous::Address);
    assert_eq!(charges.mode, None);
    assert_eq!(charges.matcher.methods, ["POST"]);
    assert_eq!(
        charges.matcher.path,
        Some(PathPattern::Exact("/v1/charges".to_owned()))
    );
    assert_eq!(
        policy.routes[2].matcher.path,
        Some(PathPattern::Prefix("/hooks/".to_owned()))
    );
}

#[test]
fn a_policy_with_every_enforced_key_means_what_it_says() {
    let policy = Policy::parse(ENFORCED.as_bytes()).unwrap();
    assert_eq!(policy.mode, Mode::Shadow);
    assert_eq!(policy.headers, RateLimitHeaders::Denied);
    assert_eq!(policy.store_error, StoreErrorRule::Pass);
    assert_eq!(
        policy.problem_base.as_deref(),
        Some("https://docs.example.com/problems/")
    );
    assert!(policy.legacy_headers);
    let source = |kind, secret| Source { kind, secret };
    assert_eq!(
        policy.identity,
        IdentityRules {
            tenant: vec![source(
                SourceKind::Jwt {
                    claim: "org.id".to_owned(),
                    payload: "verified".to_owned(),
                },
                false
            )],
            account: vec![
                source(SourceKind::Header("x-api-key".to_owned()), true),
                source(SourceKind::Query("api_key".to_owned()), true),
                source(SourceKind::Cookie("session".to_owned()), false),
                source(SourceKind::San(SanType::Dns), false),
            ],
            plan: vec![source(SourceKind::Header("x-plan".to_owned()), false)],
            address: AddressRule {
                ipv6_prefix: 56,
                signed: Some(SignedAddressRule {
                    header: "x-client-address".to_owned(),
                    key_env: "ADDRESS_KEY".to_owned(),
                    max_age: 30 * NANOS_PER_SEC,
                }),
            },
        }
    );
    let secret = format!("sha256:{}", "0".repeat(64));
    assert_eq!(
        policy.limits,
        [
            Limit {
                name: "a-limit".to_owned(),
                per: vec![Dimension::Address],
                otherwise: Dimension::Address,
                quota: quota(90, Period::Minute, 90),
                told: "\"a-limit\";q=90;w=60".to_owned(),
                plans: [].into(),
                tenant_overrides: [].into(),
                account_overrides: [].into(),
                shadow: true,
                max_keys: 65_536,
                ceiling: quota(90, Period::Minute, 90).capacity(),
            },
            Limit {
                name: "b-limit".to_owned(),
                per: vec![
                    Dimension::Tenant,
                    Dimension::Account,
                    Dimension::Header("x-region".to_owned())
                ],
                otherwise: Dimension::Host,
                quota: quota(100, Period::Hour, 1),
                told: "\"b-limit\";q=1;w=36".to_owned(),
                plans: [
                    ("Trial Plan".to_owned(), quota(1, Period::Day, 3)),
                    ("paid".to_owned(), quota(10, Period::Second, 600)),
                ]
                .into(),
                tenant_overrides: [("acme".to_owned(), quota(2, Period::Second, 9))].into(),
                account_overrides: [(secret, quota(3, Period::Second, 180))].into(),
                shadow: false,
                max_keys: 1024,
                // Three trial units come back in three days: the longest of all.
                ceiling: quota(1, Period::Day, 3).capacity(),
            },
        ]
    );
    let [orders, bulk, rest] = policy.routes.as_slice() else {
        panic!("three routes");
    };
    assert_eq!(
        orders.matcher,
        RouteMatch {
            methods: vec!["GET".to_owned(), "PATCH".to_owned()],
            path: Some(PathPattern::Template(vec![
                Segment::Literal("orders".to_owned()),
                Segment::Any
            ])),
            host: Some("api.example.com".to_owned()),
            headers: vec![("x-kind".to_owned(), "bulk".to_owned())],
        }
    );
    let header = |default| Cost::Header {
        name: "x-items".to_owned(),
        default,
    };
    assert_eq!(orders.cost, header(1));
    assert_eq!(orders.anonymous, Anonymous::Deny);
    assert_eq!(orders.mode, Some(Mode::Shadow));
    assert_eq!(bulk.cost, header(5));
    assert_eq!(bulk.anonymous, Anonymous::Allow);
    assert_eq!(rest.matcher, RouteMatch::default());
}

#[test]
fn a_shadow_limit_bounds_no_cost() {
    let text = r#"{"policy": "p", "version": "1",
        "limits": {"a": {"per": ["address"], "rate": "1/s", "burst": 1, "shadow": true}},
        "always": ["a"], "routes": [{"name": "r", "cost": 5}]}"#;
    check(text);
}

#[test]
fn a_mistake_is_not_told_a_second_time_by_what_follows_from_it() {
    let text = r#"{"policy": "p", "version": "1", "identity": {"account": {"jwt": "sub"}},
        "limits": {"a": {"per": ["account"], "rate": 5, "plans": 1}}, "always": ["a"],
        "routes": [{"name": "r", "limits": ["a"], "anonymous": "deny", "cost": 5}]}"#;
    assert_eq!(
        refused(text),
        [
            "`$.identity.account`: expected a list, found an object",
            "`$.limits.a.rate`: expected text, found the number `5`",
            "`$.limits.a.plans`: expected an object, found the number `1`",
            "`$.routes[0].limits[0]`: `a` stands in `always` already; leave it out here",
        ]
    );
}

fn reference() -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn the_examples_of_the_reference_are_enforced() {
    let reference = reference();
    let examples: Vec<&str> = reference
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        assert!(
            Policy::parse(example.as_bytes()).is_ok(),
            "{:?}",
            refused(example)
        );
    }
}
