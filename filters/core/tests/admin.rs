//! What operators are shown is what requests did: the keys of a caller are the engine's, whatever its source.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::admin::{self, Asked, Engine, Reply};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine;
use tidegate_core::ledger::event::Moment;
use tidegate_core::policy::{Policy, SanType};
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

const S: u64 = 1_000_000_000;
const NOW: u64 = 1_000 * S;

fn policy(document: &Value) -> Policy {
    let policy = Policy::parse(document.to_string().as_bytes());
    policy.unwrap_or_else(|wrong| panic!("{wrong:#?}"))
}

fn ask_by(
    policy: &Policy,
    store: &mut MemoryStore,
    method: &str,
    path: &str,
    headers: &[(&[u8], &[u8])],
) -> Reply {
    let engine = Engine {
        version: "1",
        digest: 0,
        running: &|| {
            vec![(
                "policy.p.version.1.2.digest.00000000000000ff.enforced.100".to_owned(),
                3,
            )]
        },
    };
    let asked = Asked {
        method: method.as_bytes(),
        path: path.as_bytes(),
        authority: b"127.0.0.1:9902",
        headers,
        body: b"",
        local: b"127.0.0.1:9902",
    };
    let at = Moment {
        now: NOW,
        of_day: 1_700_000_000 * S,
    };
    admin::answer(policy, &engine, store, &asked, at)
}

fn ask(policy: &Policy, store: &mut MemoryStore, path: &str) -> Value {
    let reply = ask_by(policy, store, "GET", path, &[]);
    let told: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(reply.status, 200, "{told}");
    told
}

/// The scopes of what is stored, by limit.
fn stored(told: &Value) -> BTreeSet<(String, String)> {
    let buckets = told["buckets"].as_array().unwrap().iter();
    let own = buckets.filter(|bucket| bucket["stored"] == true);
    own.map(|bucket| {
        (
            bucket["limit"].as_str().unwrap().to_owned(),
            bucket["scope"].as_str().unwrap().to_owned(),
        )
    })
    .collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Where a part of an identity may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Jwt,
    Header,
    Secret,
    Query,
    Cookie,
    San,
}

const PLACES: [Place; 6] = [
    Place::Jwt,
    Place::Header,
    Place::Secret,
    Place::Query,
    Place::Cookie,
    Place::San,
];

impl Place {
    fn source(self, part: &str) -> Value {
        match self {
            Self::Jwt => json!({"jwt": part}),
            Self::Header => json!({"header": format!("x-{part}")}),
            Self::Secret => json!({"header": format!("x-secret-{part}"), "secret": true}),
            Self::Query => json!({"query": part}),
            Self::Cookie => json!({"cookie": part}),
            Self::San => json!({"san": if part == "tenant" { "dns" } else { "uri" }}),
        }
    }

    /// Puts a value where the source looks for it.
    fn put(
        self,
        part: &str,
        value: &str,
        headers: &mut Vec<(String, String)>,
        query: &mut String,
        facts: &mut CaseFacts,
    ) {
        match self {
            Self::Jwt => {
                let claims = facts
                    .claims
                    .get_or_insert_with(|| json!({"iss": "https://id.test"}));
                claims[part] = value.into();
            }
            Self::Header => headers.push((format!("x-{part}"), value.into())),
            Self::Secret => headers.push((format!("x-secret-{part}"), value.into())),
            Self::Query => *query += &format!("&{part}={}", encoded(value)),
            Self::Cookie => headers.push(("cookie".into(), format!("{part}={value}"))),
            Self::San => facts.san.push((
                if part == "tenant" {
                    SanType::Dns
                } else {
                    SanType::Uri
                },
                value.into(),
            )),
        }
    }
}

fn place() -> impl Strategy<Value = Place> {
    proptest::sample::select(PLACES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever a request left in the tables, an operator finds by the parts of its caller: all of it, and nothing else.
    #[test]
    fn a_caller_is_found_by_its_parts_whatever_their_sources(
        tenant_place in place(),
        account_place in place(),
        tenant in "[a-zA-Z0-9_.@-]{1,12}",
        account in "[a-zA-Z0-9_.@-]{1,12}",
        guest in any::<bool>(),
        v6 in any::<bool>(),
        per in proptest::sample::subsequence(vec!["tenant", "account", "address", "route", "method", "host", "header:x-kind"], 1..=4),
        method in proptest::sample::select(vec!["GET", "POST", "BREW"]),
    ) {
        prop_assume!(tenant_place != account_place);
        let all: Vec<Value> = PLACES.iter().map(|place| place.source("account")).collect();
        let policy = policy(&json!({
            "policy": "p", "version": "1",
            "identity": {"tenant": [tenant_place.source("tenant")], "account": all},
            "limits": {"mixed": {"per": per, "rate": "1/h", "burst": 5, "max_keys": 64}, "account": {"per": ["account"], "rate": "1/h", "burst": 3, "max_keys": 64}},
            "always": ["mixed", "account"],
            "routes": [{"name": "first", "match": {"path": "/first"}}, {"name": "other"}],
        }));
        let mut store = MemoryStore::new();
        let (mut headers, mut query) = (vec![("x-kind".to_owned(), "bulk".to_owned())], String::from("/first?a=b"));
        let address = if v6 { "2001:db8:1:2::7" } else { "192.0.2.7" };
        let mut facts = CaseFacts {
            address: if v6 { format!("[{address}]:4711") } else { format!("{address}:4711") },
            ..CaseFacts::default()
        };
        tenant_place.put("tenant", &tenant, &mut headers, &mut query, &mut facts);
        if !guest {
            account_place.put("account", &account, &mut headers, &mut query, &mut facts);
        }
        let lines: Vec<(&[u8], &[u8])> = headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
        let request = Request { method: method.as_bytes(), path: query.as_bytes(), authority: b"API.test:443", headers: &lines, facts: &facts };
        let decision = engine::decide(&policy, &request, &mut store, &mut (), NOW);
        prop_assert!(decision.denial.is_none(), "{:?}", decision.denial);

        let mut asked = format!("/limits?tenant={}&address={address}&host=api.test&method={method}&header:x-kind=bulk&issuer={}", encoded(&tenant), encoded("https://id.test"));
        if !guest {
            asked += &format!("&account={}", encoded(&account));
        }
        let found = ask(&policy, &mut store, &asked);
        let drained = ask(&policy, &mut store, "/limits?order=drained");
        prop_assert_eq!(stored(&found), stored(&drained), "{:#} {:#}", found, drained);
        prop_assert_eq!(stored(&found).len(), 2);
        for bucket in found["buckets"].as_array().unwrap().iter().filter(|bucket| bucket["stored"] == true) {
            let burst = bucket["burst"].as_u64().unwrap();
            prop_assert_eq!(bucket["level"].as_u64(), Some(burst - 1), "{}", bucket);
            prop_assert_eq!(bucket["wait_ms"].as_u64(), Some(0));
        }
    }
}

/// Nobody's bucket is made by looking for it.
#[test]
fn looking_makes_nothing() {
    let policy = policy(&json!({
        "policy": "p", "version": "1", "identity": {"account": [{"header": "x-key"}]},
        "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": 3}}, "always": ["account"],
        "routes": [{"name": "pay", "match": {"path": "/pay", "methods": ["POST"]}, "idempotency": {"key": "required"}}],
    }));
    let mut store = MemoryStore::new();
    let before = format!("{store:?}");
    for path in [
        "/",
        "/policy",
        "/limits",
        "/limits?account=a",
        "/limits?order=drained",
        "/records?method=POST&path=/pay&account=a&key=k",
    ] {
        ask(&policy, &mut store, path);
    }
    assert_eq!(format!("{store:?}"), before);
    // Nor by filling one that is full.
    let reply = ask_by(
        &policy,
        &mut store,
        "POST",
        "/limits/reset?limit=account&account=a",
        &[],
    );
    assert_eq!(reply.status, 200);
    assert_eq!(format!("{store:?}"), before);
}

#[test]
fn a_version_may_have_dots() {
    let policy = policy(&json!({"policy": "p", "version": "1"}));
    let told = ask(&policy, &mut MemoryStore::new(), "/policy");
    assert_eq!(
        told["running"][0],
        json!({"version": "1.2", "digest": "00000000000000ff", "enforced_percent": 100, "vms": 3})
    );
}

#[test]
fn a_page_is_for_whom_prefers_one_and_escapes_everything() {
    let policy = policy(&json!({"policy": "p", "version": "1"}));
    for (accept, html) in [
        (
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            true,
        ),
        ("*/*", false),
        ("application/json", false),
        ("text/html;q=0.5, application/json", false),
        ("application/json;q=0.5, text/html;q=0.75", true),
        ("", false),
    ] {
        let lines = [(&b"accept"[..], accept.as_bytes())];
        let reply = ask_by(&policy, &mut MemoryStore::new(), "GET", "/limits", &lines);
        let kind = &reply
            .headers
            .iter()
            .find(|(name, _)| *name == "content-type")
            .unwrap()
            .1;
        assert_eq!(kind.starts_with("text/html"), html, "{accept}");
    }
    let lines = [(&b"accept"[..], &b"text/html"[..])];
    let reply = ask_by(
        &policy,
        &mut MemoryStore::new(),
        "GET",
        "/limits?%3Cscript%3E=1",
        &lines,
    );
    let page = String::from_utf8(reply.body).unwrap();
    assert!(
        reply.status == 400 && page.contains("&lt;script&gt;") && !page.contains("<script>"),
        "{page}"
    );
}
