//! What the gate tells about a request.

use tidegate_core::cache::{Plan, Use, renew};
use tidegate_core::cases::CaseFacts;
use tidegate_core::engine;
use tidegate_core::request::Request;
use tidegate_core::store::MemoryStore;

use crate::{Asked, lines, policy};

const ROUTES: &str = r#"[
    {"name": "own", "match": {"path": "/own/*"}, "cache": {"scope": ["tenant", "account"]}},
    {"name": "team", "match": {"path": "/team/*"}, "cache": {"scope": ["tenant"], "by": "header"}},
    {"name": "all", "match": {"path": "/all/*"}, "cache": {"scope": "public"}},
    {"name": "shadow", "match": {"path": "/shadow/*"}, "mode": "shadow", "cache": {"scope": ["account"]}}]"#;

const AMY: [(&str, &str); 2] = [("x-tenant", "red"), ("x-account", "amy")];

fn told(plan: &Plan) -> String {
    String::from_utf8(plan.instruction.to_bytes()).unwrap()
}

#[test]
fn each_route_is_told_by_its_own_way() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    let own = asked.get("/own/1?a", &AMY);
    assert_eq!(told(&own), "scoped;path;own");
    let marker = String::from_utf8(own.marker.unwrap().as_bytes().to_vec()).unwrap();
    assert_eq!(
        own.path,
        Some(format!("/own/1?a&__tidegate={marker}").into_bytes())
    );
    let team = asked.get("/team/1", &AMY);
    assert_eq!((told(&team).as_str(), team.path), ("scoped;header", None));
    assert!(team.marker.is_some());
    let all = asked.get("/all/1", &AMY);
    assert_eq!(
        (told(&all).as_str(), all.path, all.marker),
        ("public", None, None)
    );
    let other = asked.get("/other", &AMY);
    assert_eq!(
        (told(&other).as_str(), other.path, other.marker),
        ("bypass", None, None)
    );
    let shadow = asked.get("/shadow/1", &AMY);
    assert_eq!(
        (told(&shadow).as_str(), shadow.path, shadow.marker),
        ("off", None, None)
    );
}

#[test]
fn only_what_caches_keep_has_its_path_marked() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    for (method, marked) in [
        ("GET", true),
        ("HEAD", true),
        ("POST", false),
        ("PROPFIND", false),
    ] {
        let plan = asked.plan(method, b"/own/1", &lines(&AMY)).unwrap();
        assert_eq!(
            (plan.path.is_some(), plan.instruction.marked),
            (marked, marked),
            "{method}"
        );
        assert!(plan.expected.sealed, "{method}");
    }
}

#[test]
fn c8_who_is_nobody_has_a_marker_of_his_own_each_time() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    let tenant = [("x-tenant", "red")];
    let account = [("x-account", "amy")];
    let blank = [("x-tenant", " "), ("x-account", "")];
    let mut markers = Vec::new();
    for caller in [&[][..], &[], &tenant, &tenant, &account, &blank] {
        let plan = asked.get("/own/1", caller);
        assert_eq!(
            (plan.instruction.usage, plan.expected.sealed),
            (Use::Bypass, true)
        );
        markers.push(plan.marker.unwrap());
    }
    for (index, marker) in markers.iter().enumerate() {
        assert!(!markers[..index].contains(marker));
    }
}

#[test]
fn c3_the_request_was_authorized_though_its_token_is_gone() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    let basic = [
        ("x-tenant", "red"),
        ("x-account", "amy"),
        ("authorization", "Basic x"),
    ];
    assert!(asked.get("/own/1", &basic).instruction.authorized);
    assert!(!asked.get("/own/1", &AMY).instruction.authorized);
    asked.facts.claims = Some(serde_json::json!({"sub": "amy"}));
    assert!(
        asked
            .get("/own/1", &[("x-tenant", "red")])
            .instruction
            .authorized
    );
    assert!(asked.get("/all/1", &[]).instruction.authorized);
}

#[test]
fn c15_c16_c17_every_spelling_of_a_path_is_a_key_of_its_own() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    let paths = [
        "/own/a",
        "/own/A",
        "/own//a",
        "/own/%61",
        "/own/a;x=1",
        "/own/a?",
        "/own/a?x&y",
        "/own/a?y&x",
        "/own/a?x&x",
    ];
    let keys: Vec<_> = paths
        .iter()
        .map(|path| asked.get(path, &AMY).path.unwrap())
        .collect();
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "{}", paths[index]);
        assert!(key.starts_with(paths[index].as_bytes()));
    }
}

#[test]
fn c17_what_may_be_read_as_another_path_is_kept_for_its_caller_alone() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    for odd in ["..;/me", "%2e%2e/me", "a%2fb", "/me"] {
        for (route, usage) in [
            ("own", Use::Scoped),
            ("team", Use::Bypass),
            ("all", Use::Bypass),
        ] {
            let path = format!("/{route}/{odd}");
            let path = path.replace("%2e%2e/", "x/%2e%2e/");
            let plan = asked.get(&path, &AMY);
            assert_eq!(plan.instruction.usage, usage, "{path}");
        }
    }
}

#[test]
fn c18_headers_that_no_cache_has_in_its_key_are_in_ours() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    for route in ["own", "team", "all"] {
        let path = format!("/{route}/1");
        let mut markers = vec![asked.get(&path, &AMY).marker];
        for name in [
            "x-forwarded-host",
            "x-forwarded-scheme",
            "x-original-url",
            "x-rewrite-url",
            "x-http-method-override",
            "forwarded",
            "x-original-host",
        ] {
            for value in ["a", "b"] {
                let mut headers = AMY.to_vec();
                headers.push((name, value));
                markers.push(asked.get(&path, &headers).marker);
            }
        }
        for (index, marker) in markers.iter().enumerate() {
            assert!(!markers[..index].contains(marker), "{route} {index}");
        }
    }
}

#[test]
fn c20_a_change_that_succeeds_ends_the_callers_copies_of_that_path() {
    let policy = policy(
        r#"[{"name": "change", "match": {"methods": ["POST"]}},
            {"name": "own", "match": {"path": "/own/*"}, "cache": {"scope": ["tenant", "account"]}},
            {"name": "all", "match": {"path": "/all/*"}, "cache": {"scope": "public"}}]"#,
    );
    let bob = [("x-tenant", "red"), ("x-account", "bob")];
    for (path, mine, others) in [("/own/1", true, false), ("/all/1", true, true)] {
        let mut asked = Asked::new(&policy);
        for (method, status, ends) in [
            ("POST", 500, false),
            ("POST", 404, false),
            ("GET", 200, false),
            ("POST", 200, true),
            ("POST", 303, true),
        ] {
            let keys = |asked: &mut Asked<'_>| {
                let full = format!("{path}?full");
                (
                    [asked.get(path, &AMY), asked.get(&full, &AMY)].map(|plan| plan.path),
                    asked.get(path, &bob).path,
                    asked.get("/own/2", &AMY).path,
                )
            };
            let before = keys(&mut asked);
            let plan = asked.plan(method, path.as_bytes(), &lines(&AMY)).unwrap();
            let now = u64::from(status) + u64::from(ends);
            renew(plan.expected.stale, status, &mut asked.store, now).unwrap();
            let after = keys(&mut asked);
            let changed = |one: &Option<Vec<u8>>, other: &Option<Vec<u8>>| one != other;
            for (one, other) in before.0.iter().zip(&after.0) {
                assert_eq!(
                    changed(one, other),
                    mine && ends,
                    "{path} {method} {status}"
                );
            }
            assert_eq!(
                changed(&before.1, &after.1),
                others && ends,
                "{path} {method} {status}"
            );
            assert!(!changed(&before.2, &after.2));
        }
    }
}

#[test]
fn c20_a_cache_that_keys_on_a_header_is_told_whose_copies_a_change_ends() {
    let policy = policy(
        r#"[{"name": "change", "match": {"methods": ["POST"]}},
            {"name": "team", "match": {"path": "/team/*"}, "cache": {"scope": ["tenant"], "by": "header"}}]"#,
    );
    let mut asked = Asked::new(&policy);
    let read = asked.get("/team/1", &AMY);
    let overridden = [AMY.to_vec(), vec![("x-http-method-override", "PATCH")]].concat();
    for headers in [&AMY[..], &overridden] {
        let change = asked.plan("POST", b"/team/1", &lines(headers)).unwrap();
        assert_eq!(
            (change.marker, told(&change).as_str()),
            (read.marker, "bypass")
        );
        assert!(!change.expected.sealed && !change.expected.scoped);
    }
    let change = asked.plan("POST", b"/other", &lines(&AMY)).unwrap();
    assert_eq!(change.marker, None);
}

#[test]
fn c20_a_change_on_a_route_in_shadow_is_a_change() {
    let policy = policy(
        r#"[{"name": "change", "match": {"methods": ["POST"]}, "mode": "shadow"},
            {"name": "own", "match": {"path": "/own/*"}, "cache": {"scope": ["account"]}}]"#,
    );
    let plan = Asked::new(&policy)
        .plan("POST", b"/own/1", &lines(&AMY))
        .unwrap();
    assert_eq!(told(&plan), "off");
    assert!(plan.expected.stale.is_some());
}

#[test]
fn a_request_with_a_body_is_for_no_copy() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    asked.facts.has_body = true;
    for path in ["/own/1", "/team/1", "/all/1"] {
        assert_eq!(
            asked.get(path, &AMY).instruction.usage,
            Use::Bypass,
            "{path}"
        );
    }
}

#[test]
fn c3_a_verified_token_counts_whether_or_not_the_policy_reads_it() {
    let policy = policy(ROUTES);
    let mut asked = Asked::new(&policy);
    asked.facts.claims = Some(serde_json::json!({"email": "amy@red.test"}));
    assert!(asked.get("/all/1", &[]).instruction.authorized);
}

#[test]
fn a_policy_that_does_not_speak_of_caches_or_is_in_shadow_tells_nothing() {
    let silent = policy(r#"[{"name": "a"}]"#);
    assert_eq!(Asked::new(&silent).plan("GET", b"/", &[]), None);
    let mut shadow = policy(ROUTES);
    shadow.mode = tidegate_core::policy::Mode::Shadow;
    assert_eq!(
        Asked::new(&shadow).plan("GET", b"/own/1", &lines(&AMY)),
        None
    );
}

#[test]
fn a_host_without_randomness_lets_nobody_through_who_needs_it() {
    use tidegate_core::cache::ScopeKey;
    use tidegate_core::denial::Denial;
    use tidegate_core::policy::SanType;
    use tidegate_core::request::{Claim, Facts};

    struct Dull(ScopeKey);
    impl Facts for Dull {
        fn claim(&self, _: &str, _: &str) -> Claim<'_> {
            Claim::Absent
        }
        fn source_address(&self) -> Vec<u8> {
            Vec::new()
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
            &self.0
        }
        fn random(&self) -> Option<[u8; 32]> {
            None
        }
    }
    let policy = policy(ROUTES);
    let facts = Dull(ScopeKey::default());
    let amy = lines(&AMY);
    for (headers, denial) in [(&amy[..], None), (&[], Some(Denial::StoreUnavailable))] {
        let request = Request {
            method: b"GET",
            path: b"/own/1",
            authority: b"",
            headers,
            facts: &facts,
        };
        let mut store = tidegate_core::store::MemoryStore::new();
        let decision = engine::decide(&policy, &request, &mut store, &mut (), 1);
        assert_eq!(decision.denial, denial);
    }
}

#[test]
fn who_shares_a_copy_is_the_same_in_whatever_order_the_scope_is_written() {
    let sharers = |scope: &str, account: &str| {
        let routes = format!(
            r#"[{{"name": "own", "match": {{"path": "/own/*"}}, "cache": {{"scope": {scope}}}}}]"#
        );
        // In shadow as a whole, which says what it would do.
        let mut policy = policy(&routes);
        policy.put_in_shadow();
        let facts = CaseFacts::default();
        let headers = lines(&[
            ("x-tenant", "red"),
            ("x-account", account),
            ("x-a", "1"),
            ("x-b", "2"),
        ]);
        let request = Request {
            method: b"GET",
            path: b"/own/1",
            authority: b"api.test",
            headers: &headers,
            facts: &facts,
        };
        let decision = engine::decide(&policy, &request, &mut MemoryStore::new(), &mut (), 1);
        decision.sharers.unwrap()
    };
    for (one, other) in [
        (r#"["tenant", "account"]"#, r#"["account", "tenant"]"#),
        (
            r#"["header:x-a", "tenant", "header:x-b"]"#,
            r#"["header:x-b", "header:x-a", "tenant"]"#,
        ),
    ] {
        assert_eq!(sharers(one, "amy"), sharers(other, "amy"), "{one}");
    }
    assert_ne!(
        sharers(r#"["tenant", "account"]"#, "amy"),
        sharers(r#"["account", "tenant"]"#, "ben")
    );
    assert_ne!(
        sharers(r#"["header:x-a"]"#, "amy"),
        sharers(r#"["header:x-b"]"#, "amy")
    );
}
