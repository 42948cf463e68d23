//! What is known of a caller decides as the engine does without it, and never for another caller.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::HashMap;

use proptest::prelude::*;
use tidegate_core::cases::{CaseFacts, Known};
use tidegate_core::engine;
use tidegate_core::policy::Policy;
use tidegate_core::request::Request;
use tidegate_core::route;
use tidegate_core::store::{MemoryStore, Store as _};

const POLICY: &str = r#"{"policy": "p", "version": "1",
    "identity": {"tenant": [{"header": "x-tenant"}], "account": [{"jwt": "sub"}, {"header": "x-account"}],
                 "plan": [{"header": "x-plan"}]},
    "limits": {"tenant": {"per": ["tenant"], "rate": "60/min", "burst": 12},
               "account": {"per": ["tenant", "account"], "rate": "60/min", "burst": 4,
                           "plans": {"gold": {"rate": "90/min", "burst": 9}}},
               "place": {"per": ["account", "route", "method", "host"], "rate": "5/s", "burst": 3}},
    "always": ["tenant", "account"],
    "routes": [{"name": "posts", "match": {"path": "/posts/*", "methods": ["POST"]}, "limits": ["place"], "anonymous": "deny"},
               {"name": "costly", "match": {"path": "/costly/*"}, "limits": ["place"], "cost": {"header": "x-cost"}},
               {"name": "once", "match": {"path": "/once/*"}, "limits": ["place"], "idempotency": {"key": "optional"}}]}"#;

/// A request, but for its path, as a few numbers.
#[derive(Debug)]
struct Made {
    tenant: usize,
    account: usize,
    claim: bool,
    plan: usize,
    cost: usize,
    address: usize,
    method: usize,
    host: usize,
}

/// What requests are for.
const PATHS: [&str; 8] = [
    "/posts/1",
    "/posts/2",
    "/costly/1",
    "/costly/%32",
    "/once/1",
    "/",
    "/x?__tidegate=1",
    "/x?a=1",
];

fn made() -> impl Strategy<Value = Made> {
    let caller = (
        0..4_usize,
        0..4_usize,
        any::<bool>(),
        0..3_usize,
        0..5_usize,
        0..2_usize,
    );
    let rest = (0..2_usize, 0..2_usize);
    (caller, rest).prop_map(
        |((tenant, account, claim, plan, cost, address), (method, host))| Made {
            tenant,
            account,
            claim,
            plan,
            cost,
            address,
            method,
            host,
        },
    )
}

impl Made {
    /// Shows the request for `path` to `look`, with all of it but the path as a text.
    fn show<T>(&self, path: &str, look: impl FnOnce(&Request<'_>, String) -> T) -> T {
        let account = ["", "bob", "ann", "bob,ann"][self.account];
        let lines = [
            ("x-tenant", ["", "a", "ab", "b"][self.tenant]),
            ("x-account", if self.claim { "" } else { account }),
            ("x-plan", ["", "gold", "lead"][self.plan]),
            ("x-cost", ["", "1", "2", "7", "none"][self.cost]),
        ];
        let headers: Vec<_> = lines
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let claims =
            (self.claim && !account.is_empty()).then(|| serde_json::json!({"sub": account}));
        let facts = CaseFacts {
            address: ["192.0.2.1", "nowhere"][self.address].to_owned(),
            claims: claims.clone(),
            ..CaseFacts::default()
        };
        let method = ["GET", "POST"][self.method];
        let host = ["api.test", "api.example"][self.host];
        let request = Request {
            method: method.as_bytes(),
            path: path.as_bytes(),
            authority: host.as_bytes(),
            headers: &headers,
            facts: &facts,
        };
        look(
            &request,
            format!("{method} {host} {lines:?} {claims:?} {}", facts.address),
        )
    }
}

proptest! {
    #[test]
    fn it_decides_as_the_engine_does(
        callers in proptest::collection::vec(made(), 12),
        // Whose request it is, its path, and how long after the one before it comes.
        requests in proptest::collection::vec((0..12_usize, 0..PATHS.len(), 0..500_000_000_u64), 200..400),
    ) {
        let policy = Policy::parse(POLICY.as_bytes()).unwrap();
        prop_assert!(Known::is_possible(&policy));
        let (mut plain, mut with) = (MemoryStore::new(), MemoryStore::new());
        let mut remembered = HashMap::new();
        let (mut now, mut again) = (1_000_000_000_000, 0);
        for (caller, path, after) in &requests {
            now += after;
            callers[*caller].show(PATHS[*path], |request, beside_path| {
                let wanted = engine::decide(&policy, request, &mut plain, &mut (), now);
                let route = route::find(&policy, request);
                let key = (route.map(|route| &route.name), beside_path);
                again += usize::from(matches!(remembered.get(&key), Some(Some(_))));
                let known = remembered
                    .entry(key)
                    .or_insert_with(|| Known::of(&policy, request, route, with.secret()));
                let found = match known {
                    Some(known) => known.decide(&policy, request, route, &mut with, now),
                    None => engine::decide(&policy, request, &mut with, &mut (), now),
                };
                prop_assert_eq!(&found.denial, &wanted.denial);
                prop_assert_eq!(&found.standings, &wanted.standings);
                prop_assert_eq!(&found.unkeyed, &wanted.unkeyed);
                prop_assert_eq!(found.counts, wanted.counts);
                prop_assert_eq!((found.mode, found.canary, found.cache.is_none()), (wanted.mode, wanted.canary, true));
                prop_assert_eq!(found.route.map(|r| &r.name), wanted.route.map(|r| &r.name));
                Ok(())
            })?;
        }
        prop_assert!(again > 20, "{}", again);
    }
}

#[test]
fn nothing_is_known_where_more_than_the_caller_and_the_route_has_a_say() {
    for (from, to) in [
        (r#"{"header": "x-tenant"}"#, r#"{"query": "tenant"}"#),
        (
            r#""version": "1","#,
            r#""version": "1", "canary": {"percent": 5, "by": ["account"]},"#,
        ),
        (
            r#""match": {"path": "/costly/*"}"#,
            r#""match": {"path": "/costly/*"}, "cache": {"scope": "public"}"#,
        ),
        (
            r#""identity": {"#,
            r#""identity": {"address": {"signed": {"header": "x-from", "key_env": "KEY"}}, "#,
        ),
    ] {
        let document = POLICY.replace(from, to);
        let policy =
            Policy::parse(document.as_bytes()).unwrap_or_else(|wrong| panic!("{to}: {wrong:#?}"));
        assert!(!Known::is_possible(&policy), "{to}");
    }
}
