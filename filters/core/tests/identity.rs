//! Who is calling: the D statements of the conformance list, by number.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod wire;

use proptest::prelude::*;
use serde_json::json;
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine::decide;
use tidegate_core::idempotency::Turn;
use tidegate_core::identity::{Identity, sign_address};
use tidegate_core::key::Parts;
use tidegate_core::policy::{
    AddressRule, IdentityRules, Policy, SanType, SignedAddressRule, Source, SourceKind,
};
use tidegate_core::request::{Facts, Request};
use tidegate_core::store::MemoryStore;

fn source(kind: SourceKind) -> Vec<Source> {
    vec![Source {
        kind,
        secret: false,
    }]
}

fn jwt(claim: &str) -> SourceKind {
    SourceKind::Jwt {
        claim: claim.into(),
        payload: "jwt_payload".into(),
    }
}

fn account(kind: SourceKind) -> IdentityRules {
    IdentityRules {
        account: source(kind),
        ..IdentityRules::default()
    }
}

/// What is decided about a request: the account as its key has it, nothing, or why it is refused.
fn seen(
    rules: &IdentityRules,
    headers: &[(&[u8], &[u8])],
    path: &str,
    facts: &dyn Facts,
) -> Result<Option<Vec<u8>>, String> {
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        authority: b"a.test",
        headers,
        facts,
    };
    let identity =
        Identity::of(rules, &request).map_err(|e| format!("{} {}", e.source, e.fault))?;
    Ok(identity.account.map(|part| {
        let mut parts = Parts::new();
        part.push_to(&mut parts);
        parts.as_bytes().to_vec()
    }))
}

fn by_header(headers: &[(&[u8], &[u8])]) -> Result<Option<Vec<u8>>, String> {
    seen(
        &account(SourceKind::Header("x-id".into())),
        headers,
        "/",
        &CaseFacts::default(),
    )
}

fn by_claims(claim: &str, claims: serde_json::Value) -> Result<Option<Vec<u8>>, String> {
    let facts = CaseFacts {
        claims: Some(claims),
        ..CaseFacts::default()
    };
    seen(&account(jwt(claim)), &[], "/", &facts)
}

#[test]
fn d1_twice_or_with_a_comma_is_refused() {
    assert!(by_header(&[(b"x-id", b"a"), (b"x-id", b"a")]).is_err());
    assert!(by_header(&[(b"x-id", b""), (b"x-id", b"a")]).is_err());
    assert!(by_header(&[(b"x-id", b"a,a")]).is_err());
    assert!(
        by_header(&[(b"x-id", b"a"), (b"x-other", b"a")])
            .unwrap()
            .is_some()
    );
}

#[test]
fn d2_names_that_are_ours_are_refused_in_every_spelling() {
    let policy =
        Policy::parse(include_bytes!("../../../policies/first-limit/policy.json")).unwrap();
    for name in [
        "x-tidegate-scope",
        "x_tidegate_scope",
        "X-Tidegate-Scope",
        "x-tidegate_anything",
        "x-tidegate-",
    ] {
        let facts = CaseFacts {
            address: "192.0.2.1".into(),
            ..CaseFacts::default()
        };
        let headers: &[(&[u8], &[u8])] = &[(name.as_bytes(), b"1")];
        let request = Request {
            method: b"GET",
            path: b"/",
            authority: b"",
            headers,
            facts: &facts,
        };
        let decision = decide(&policy, &request, &mut MemoryStore::new(), &mut (), 1);
        assert_eq!(decision.denial.unwrap().rule(), "reserved-name", "{name}");
    }
}

/// Some origins take `x_id` for `x-id`: a caller who sends both is two people.
#[test]
fn d2_an_identity_header_with_underscores_is_refused() {
    assert!(by_header(&[(b"x-id", b"a"), (b"x_id", b"b")]).is_err());
    assert!(by_header(&[(b"x_id", b"b")]).is_err());
    assert!(by_header(&[(b"x-id", b"a"), (b"x_ie", b"b"), (b"x_id2", b"b")]).is_ok());
}

#[test]
fn d3_absent_empty_and_white_space_are_nobody() {
    assert_eq!(by_header(&[]).unwrap(), None);
    assert_eq!(by_header(&[(b"x-id", b"")]).unwrap(), None);
    assert_eq!(by_header(&[(b"x-id", b" \t ")]).unwrap(), None);
    assert_eq!(
        by_header(&[(b"x-id", b" a ")]).unwrap(),
        by_header(&[(b"x-id", b"a")]).unwrap()
    );
}

#[test]
fn d4_too_long_or_with_control_characters_is_refused() {
    assert!(by_header(&[(b"x-id", &[b'a'; 1024])]).unwrap().is_some());
    assert!(by_header(&[(b"x-id", &[b'a'; 1025])]).is_err());
    for value in [&b"a\0b"[..], b"a\n", b"\ra", b"a\tb", b"a\x7f", b"\x01"] {
        assert!(by_header(&[(b"x-id", value)]).is_err(), "{value:?}");
    }
    // Bytes that are not UTF-8 are a name like another, and no reason to fall over.
    assert!(by_header(&[(b"x-id", b"\xff\xfe")]).unwrap().is_some());
    assert!(by_claims("sub", json!({"sub": "a\u{0}b"})).is_err());
}

#[test]
fn d5_an_account_is_issuer_and_subject() {
    let of = |iss: &str| {
        by_claims("sub", json!({"iss": iss, "sub": "a"}))
            .unwrap()
            .unwrap()
    };
    assert_eq!(of("https://one.test"), of("https://one.test"));
    assert_ne!(of("https://one.test"), of("https://two.test"));
}

#[test]
fn verified_names_are_taken_as_they_are() {
    let of = |sub: &str| by_claims("sub", json!({"sub": sub})).unwrap();
    assert_ne!(of("alice"), of("alice "));
    assert_eq!(of("  "), None);
}

#[test]
fn d6_no_token_is_nobody() {
    assert_eq!(
        seen(&account(jwt("sub")), &[], "/", &CaseFacts::default()).unwrap(),
        None
    );
    assert_eq!(by_claims("sub", json!({"iss": "x"})).unwrap(), None);
    assert_eq!(by_claims("sub", json!({"sub": null})).unwrap(), None);
    assert_eq!(by_claims("user.id", json!({"user": "a"})).unwrap(), None);
}

#[test]
fn d7_a_claim_that_is_no_text_is_refused() {
    for sub in [
        json!(9_007_199_254_740_992_u64),
        json!(9_007_199_254_740_993_u64),
        json!(1.5),
        json!(true),
        json!(["a"]),
        json!({"a": "b"}),
    ] {
        assert!(by_claims("sub", json!({"sub": sub})).is_err(), "{sub}");
    }
    assert!(
        by_claims("sub", json!({"iss": 7, "sub": "a"})).is_err(),
        "an issuer that is no text"
    );
}

#[test]
fn dotted_claims_reach_nested_ones_and_names_with_dots_are_found_first() {
    let nested = by_claims("user.id", json!({"user": {"id": "a"}}))
        .unwrap()
        .unwrap();
    let flat = by_claims("user.id", json!({"user.id": "a", "user": {"id": "b"}}))
        .unwrap()
        .unwrap();
    assert_eq!(nested, flat);
    assert!(
        by_claims(
            "https://x.test/tenant",
            json!({"https://x.test/tenant": "t"})
        )
        .unwrap()
        .is_some()
    );
}

/// D8: nothing reads a token. A bearer token in the request makes no identity.
#[test]
fn d8_a_token_that_nobody_verified_is_nobody() {
    let unsigned = b"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.";
    let headers: &[(&[u8], &[u8])] = &[(b"authorization", unsigned)];
    assert_eq!(
        seen(&account(jwt("sub")), headers, "/", &CaseFacts::default()).unwrap(),
        None
    );
}

/// D9: the address is the proxy's word; X-Forwarded-For changes nothing.
#[test]
fn d9_forwarded_headers_are_not_looked_at() {
    let rules = IdentityRules::default();
    let facts = CaseFacts {
        address: "192.0.2.7:4711".into(),
        ..CaseFacts::default()
    };
    let headers: &[(&[u8], &[u8])] = &[
        (b"x-forwarded-for", b"203.0.113.1"),
        (b"forwarded", b"for=203.0.113.1"),
        (b"x-real-ip", b"203.0.113.1"),
    ];
    let request = Request {
        method: b"GET",
        path: b"/",
        authority: b"",
        headers,
        facts: &facts,
    };
    let identity = Identity::of(&rules, &request).unwrap();
    assert_eq!(identity.address().unwrap().to_string(), "192.0.2.7");
}

#[test]
fn d15_a_name_in_a_certificate_counts_only_if_the_proxy_vouches_for_it() {
    let rules = account(SourceKind::San(SanType::Uri));
    let vouched = CaseFacts {
        san: vec![(SanType::Uri, "spiffe://a/b".into())],
        ..CaseFacts::default()
    };
    assert!(seen(&rules, &[], "/", &vouched).unwrap().is_some());
    assert_eq!(
        seen(
            &rules,
            &[(b"x-forwarded-client-cert", b"URI=spiffe://a/b")],
            "/",
            &CaseFacts::default()
        )
        .unwrap(),
        None
    );
}

#[test]
fn d16_kinds_never_meet() {
    let facts = CaseFacts {
        claims: Some(json!({"id": "a"})),
        san: vec![(SanType::Uri, "a".into()), (SanType::Dns, "a".into())],
        ..CaseFacts::default()
    };
    let headers: &[(&[u8], &[u8])] = &[(b"id", b"a"), (b"id2", b"a"), (b"cookie", b"id=a")];
    let kinds = [
        jwt("id"),
        SourceKind::Header("id".into()),
        SourceKind::Header("id2".into()),
        SourceKind::Query("id".into()),
        SourceKind::Cookie("id".into()),
        SourceKind::San(SanType::Uri),
        SourceKind::San(SanType::Dns),
    ];
    let mut keys: Vec<_> = kinds
        .into_iter()
        .map(|kind| {
            seen(&account(kind), headers, "/?id=a", &facts)
                .unwrap()
                .unwrap()
        })
        .collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 7);
}

/// What is decided about a request with this account from this address.
fn decided(
    policy: &Policy,
    store: &mut MemoryStore,
    account: &str,
    address: &str,
) -> Option<&'static str> {
    let facts = CaseFacts {
        address: address.into(),
        ..CaseFacts::default()
    };
    let headers: &[(&[u8], &[u8])] = &[(b"x-account", account.as_bytes())];
    let request = Request {
        method: b"GET",
        path: b"/",
        authority: b"",
        headers,
        facts: &facts,
    };
    let decision = decide(policy, &request, store, &mut (), 1_000_000_000_000_000);
    decision.denial.map(|denial| denial.rule())
}

/// One request an hour for each account, and for each address of those who have none.
fn once() -> Policy {
    let document =
        br#"{"policy": "p", "version": "1", "identity": {"account": [{"header": "x-account"}]},
        "limits": {"a": {"per": ["account"], "rate": "1/h", "burst": 1}}, "always": ["a"]}"#;
    Policy::parse(document).unwrap()
}

#[test]
fn d16_an_account_that_is_called_like_an_address_is_not_that_address() {
    let (policy, mut store) = (once(), MemoryStore::new());
    let mut ask = |account, address| decided(&policy, &mut store, account, address);
    assert_eq!(ask("192.0.2.1", "192.0.2.9:1"), None);
    assert!(ask("192.0.2.1", "192.0.2.9:1").is_some());
    assert_eq!(ask("", "192.0.2.1:1"), None);
    assert!(ask("", "192.0.2.1:2").is_some());
}

#[test]
fn d3_d14_who_has_neither_account_nor_address_shares_no_bucket() {
    let (policy, mut store) = (once(), MemoryStore::new());
    for peer in ["", "/var/run/x.sock", "envoy://internal/", "1.2.3.4.5:1"] {
        for _ in 0..2 {
            let denial = decided(&policy, &mut store, " ", peer);
            assert_eq!(denial, Some("identity-required"), "{peer}");
        }
        // Who is known otherwise needs no address.
        assert_eq!(
            decided(&policy, &mut store, &format!("by {peer}"), peer),
            None
        );
    }
}

/// D17: whatever number of limits asks, and a cache or a record too, the identity is decided once: no fact is fetched twice.
#[test]
fn d17_identity_is_decided_once_per_request() {
    use std::cell::Cell;
    use tidegate_core::cache::ScopeKey;
    use tidegate_core::request::Claim;

    #[derive(Default)]
    struct Counting {
        claims: Cell<u32>,
        addresses: Cell<u32>,
        scope_key: ScopeKey,
    }
    impl Facts for Counting {
        fn claim(&self, _: &str, name: &str) -> Claim<'_> {
            self.claims.set(self.claims.get() + 1);
            Claim::Text(name.as_bytes().to_vec().into())
        }
        fn source_address(&self) -> Vec<u8> {
            self.addresses.set(self.addresses.get() + 1);
            b"192.0.2.1:1".to_vec()
        }
        fn peer_san(&self, _: SanType) -> Option<Vec<u8>> {
            None
        }
        fn address_key(&self) -> &[u8] {
            &[]
        }
        fn unix_seconds(&self) -> u64 {
            0
        }
        fn scope_key(&self) -> &ScopeKey {
            &self.scope_key
        }
        fn random(&self) -> Option<[u8; 32]> {
            Some([7; 32])
        }
    }

    let policy = Policy::parse(
        br#"{"policy": "d17", "version": "1", "identity": {"account": [{"jwt": "sub"}]}, "limits": {
            "a": {"per": ["account"], "rate": "9/s"}, "b": {"per": ["account", "address"], "rate": "9/s"},
            "c": {"per": ["address"], "rate": "9/s"}, "d": {"per": ["account", "route"], "rate": "9/s"}},
            "always": ["a", "b", "c", "d"],
            "routes": [{"name": "own", "match": {"path": "/own"}, "cache": {"scope": ["account"]}},
                       {"name": "charges", "match": {"path": "/charges"}, "idempotency": {"key": "required"}}]}"#,
    )
    .unwrap();
    for (method, path) in [("GET", "/"), ("GET", "/own"), ("POST", "/charges")] {
        let facts = Counting::default();
        let request = Request {
            method: method.as_bytes(),
            path: path.as_bytes(),
            authority: b"",
            headers: &[(b"idempotency-key", b"k")],
            facts: &facts,
        };
        let decision = decide(&policy, &request, &mut MemoryStore::new(), &mut (), 1);
        assert_eq!((decision.denial, decision.standings.len()), (None, 4));
        let marked = decision.cache.is_some_and(|plan| plan.marker.is_some());
        assert_eq!(marked, path == "/own");
        assert_eq!(matches!(decision.turn, Turn::Run(_)), path == "/charges");
        // The subject and its issuer; the address.
        let asked = (facts.claims.get(), facts.addresses.get());
        assert_eq!(asked, (2, 1), "{path}");
    }
}

#[test]
fn cookies_are_found_on_any_line_and_refused_when_there_are_two() {
    let rules = account(SourceKind::Cookie("sid".into()));
    let of = |headers: &[(&[u8], &[u8])]| seen(&rules, headers, "/", &CaseFacts::default());
    let one = of(&[(b"cookie", b"sid=a")]).unwrap();
    assert!(one.is_some());
    assert_eq!(of(&[(b"cookie", b"x=1;  sid=a ; y=2")]).unwrap(), one);
    assert_eq!(
        of(&[(b"cookie", b"x=1"), (b"cookie", b"sid=a")]).unwrap(),
        one
    );
    assert_eq!(of(&[(b"cookie", b"xsid=a; sid")]).unwrap(), None);
    assert!(of(&[(b"cookie", b"sid=a"), (b"cookie", b"sid=a")]).is_err());
}

#[test]
fn a_secret_is_only_ever_its_digest() {
    let mut rules = account(SourceKind::Header("x-api-key".into()));
    rules.account[0].secret = true;
    let headers: &[(&[u8], &[u8])] = &[(b"x-api-key", b"abc")];
    let key = seen(&rules, headers, "/", &CaseFacts::default())
        .unwrap()
        .unwrap();
    let digest = b"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert!(key.ends_with(digest), "FIPS 180-4's first example");
}

mod signed_address {
    use super::*;

    const NOW: u64 = 1_764_450_000;

    fn seen(header: &str, key: &[u8]) -> Result<String, String> {
        let rules = IdentityRules {
            address: AddressRule {
                ipv6_prefix: 64,
                signed: Some(SignedAddressRule {
                    header: "x-client-address".into(),
                    key_env: "KEY".into(),
                    max_age: 60_000_000_000,
                }),
            },
            ..IdentityRules::default()
        };
        let facts = CaseFacts {
            address: "192.0.2.1:1".into(),
            address_key: key.to_vec(),
            unix_seconds: NOW,
            ..CaseFacts::default()
        };
        let line: &[(&[u8], &[u8])] = &[(b"x-client-address", header.as_bytes())];
        let headers = if header.is_empty() { &[] } else { line };
        let request = Request {
            method: b"GET",
            path: b"/",
            authority: b"",
            headers,
            facts: &facts,
        };
        let identity = Identity::of(&rules, &request).map_err(|e| e.fault.to_owned())?;
        let address = identity.address();
        Ok(address.map_or("none".into(), |a| a.to_string()))
    }

    fn signed(ip: &str, time: u64) -> String {
        sign_address(ip.parse().unwrap(), time, b"key")
    }

    #[test]
    fn what_the_front_signed_is_the_address() {
        assert_eq!(
            seen(&signed("203.0.113.9", NOW), b"key").unwrap(),
            "203.0.113.9"
        );
        assert_eq!(
            seen(&signed("2001:db8::9", NOW - 60), b"key").unwrap(),
            "2001:db8::/64"
        );
        assert_eq!(seen("", b"key").unwrap(), "192.0.2.1");
    }

    #[test]
    fn what_it_did_not_sign_is_refused() {
        let good = signed("203.0.113.9", NOW);
        assert!(seen(&good, b"other key").is_err());
        assert!(seen(&good, b"").is_err(), "an empty key signs nothing");
        assert!(seen(&good.replace("113.9", "113.8"), b"key").is_err());
        assert!(
            seen(&signed("203.0.113.9", NOW - 61), b"key")
                .unwrap_err()
                .contains("too long ago")
        );
        assert!(
            seen(&signed("203.0.113.9", NOW + 6), b"key")
                .unwrap_err()
                .contains("future")
        );
        for odd in [
            "203.0.113.9",
            "\"203.0.113.9\";t=1",
            "\"x\";t=1;mac=:AA==:",
            "\"203.0.113.9\";t=+1;mac=::",
            "\"203.0.113.9\";t=99999999999999999999;mac=::",
        ] {
            assert!(seen(odd, b"key").is_err(), "{odd}");
        }
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::collection::vec(prop::sample::select(b"ab|:/\0 ".to_vec()), 0..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Two callers that differ in any dimension never share a key.
    #[test]
    fn callers_that_differ_never_share_a_key(one in (bytes(), bytes()), other in (bytes(), bytes())) {
        let rules = IdentityRules {
            tenant: source(SourceKind::Header("t".into())),
            account: source(SourceKind::Header("a".into())),
            ..IdentityRules::default()
        };
        let key = |(tenant, account): &(Vec<u8>, Vec<u8>)| {
            let facts = CaseFacts::default();
            let headers: &[(&[u8], &[u8])] = &[(b"t", tenant), (b"a", account)];
            let request = Request { method: b"GET", path: b"/", authority: b"", headers, facts: &facts };
            let identity = Identity::of(&rules, &request).ok()?;
            let (tenant, account) = (identity.tenant.as_ref()?, identity.account.as_ref()?);
            let mut parts = Parts::new();
            tenant.push_to(&mut parts);
            account.push_to(&mut parts);
            Some(parts)
        };
        if let (Some(first), Some(second)) = (key(&one), key(&other)) {
            let trimmed = |(t, a): &(Vec<u8>, Vec<u8>)| (t.trim_ascii().to_vec(), a.trim_ascii().to_vec());
            prop_assert_eq!(trimmed(&one) == trimmed(&other), first == second);
        }
    }

    /// No request, however odd, makes the decision fall over.
    #[test]
    fn any_request_is_decided(
        headers in prop::collection::vec((bytes(), bytes()), 0..8),
        path in bytes(), method in bytes(), authority in bytes(), address in ".{0,20}", now in any::<u64>(),
    ) {
        let policy = Policy::parse(include_bytes!("table/identities/policy.json")).unwrap();
        let facts = CaseFacts { address, ..CaseFacts::default() };
        let mut lines: Vec<(&[u8], &[u8])> = headers.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        if let Some((value, _)) = headers.first() {
            lines.push((b"cookie", value));
            lines.push((b"x-account", value));
        }
        let request = Request { method: &method, path: &path, authority: &authority, headers: &lines, facts: &facts };
        decide(&policy, &request, &mut MemoryStore::new(), &mut (), now);
    }
}

mod metadata {
    //! Claims as Envoy hands them over: `envoy.config.core.v3.Metadata` in the protobuf wire format.
    use super::*;
    use tidegate_core::claims::from_metadata;
    use tidegate_core::request::Claim;

    fn metadata(claims: serde_json::Value) -> Vec<u8> {
        let jwt = wire::structure(&json!({"other": {"sub": "wrong"}, "jwt_payload": claims}));
        let other = wire::structure(&json!({"jwt_payload": {"sub": "wrong"}}));
        wire::map(
            [
                ("envoy.filters.http.other".into(), other),
                ("envoy.filters.http.jwt_authn".into(), jwt),
            ]
            .into_iter(),
        )
    }

    #[test]
    fn reads_what_jwt_authn_wrote_and_keeps_the_types() {
        let long = "x".repeat(300);
        let bytes = metadata(json!({
            "sub": "a", "n": 7, "t": true, "z": null, "l": ["a"], "user": {"id": "b", "deep": {"er": "c"}},
            "a.b": "dot", "long": long.clone(), "empty": ""
        }));
        let claim = |name| from_metadata(&bytes, "jwt_payload", name);
        let text = |text: &str| Claim::Text(text.as_bytes().to_vec().into());
        assert_eq!(claim("sub"), text("a"));
        assert_eq!(claim("user.id"), text("b"));
        assert_eq!(claim("user.deep.er"), text("c"));
        assert_eq!(claim("a.b"), text("dot"));
        assert_eq!(claim("long"), text(&long));
        assert_eq!(claim("empty"), text(""));
        for name in ["n", "t", "l", "user"] {
            assert_eq!(claim(name), Claim::NotText, "{name}");
        }
        for name in ["z", "none", "sub.x", "user.none", ""] {
            assert_eq!(claim(name), Claim::Absent, "{name}");
        }
        assert_eq!(from_metadata(&bytes, "none", "sub"), Claim::Absent);
        assert_eq!(from_metadata(&[], "jwt_payload", "sub"), Claim::Absent);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
            from_metadata(&bytes, "jwt_payload", "sub");
            let whole = metadata(json!({"sub": "a"}));
            from_metadata(&whole[..cut.min(whole.len())], "jwt_payload", "sub");
        }
    }
}
