//! INCIDENTS 3: a check over any policy that builds two callers with the same visible parameters and proves that their
//! keys differ.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use tidegate_core::cases::{Found, pairs, warnings};
use tidegate_core::policy::{Policy, Scope};

fn policy(routes: &str) -> Policy {
    let document = format!(
        r#"{{"policy": "p", "version": "1",
        "identity": {{"tenant": [{{"jwt": "tenant_id"}}, {{"header": "x-tenant-id"}}],
                      "account": [{{"jwt": "sub"}}, {{"cookie": "session"}}, {{"query": "key"}}, {{"san": "uri"}}],
                      "plan": [{{"jwt": "plan"}}]}},
        "limits": {{"region": {{"per": ["header:x-region"], "rate": "9/s"}},
                    "all": {{"per": ["tenant", "account", "route", "host", "method"], "rate": "9/s"}}}},
        "always": ["all"], "routes": {routes}}}"#
    );
    Policy::parse(document.as_bytes()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

fn warned(routes: &str) -> Vec<String> {
    warnings(&policy(routes))
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn c1_callers_are_apart_on_every_scoped_route_of_every_policy_that_ships() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut scoped = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path().join("policy.json");
        if !file.is_file() {
            continue;
        }
        let policy = Policy::parse(&std::fs::read(&file).unwrap()).unwrap();
        let found = pairs(&policy);
        let together: Vec<_> = found
            .iter()
            .filter(|pair| pair.found != Found::Apart)
            .collect();
        assert!(together.is_empty(), "{}: {together:#?}", file.display());
        assert_eq!(warnings(&policy), [], "{}", file.display());
        for (index, route) in policy.routes.iter().enumerate() {
            if route
                .cache
                .as_ref()
                .is_some_and(|cache| cache.scope != Scope::Public)
            {
                scoped += 1;
                let count = found.iter().filter(|pair| pair.route == index).count();
                assert!(
                    count > 0,
                    "{}: no pair for `{}`",
                    file.display(),
                    route.name
                );
            }
        }
    }
    assert!(scoped > 0, "no policy has a scoped route");
}

#[test]
fn c1_every_source_of_every_part_is_tried_and_the_same_name_from_two() {
    for by in ["path", "header"] {
        let policy = policy(&format!(
            r#"[{{"name": "r", "match": {{"methods": ["HEAD"], "path": "/a/{{id}}/b", "host": "h.test",
                 "headers": {{"x-v": "1"}}}},
                 "cache": {{"scope": ["tenant", "account", "plan", "header:x-region"], "by": "{by}"}}}}]"#
        ));
        let found = pairs(&policy);
        assert!(
            found.iter().all(|pair| pair.found == Found::Apart),
            "{found:#?}"
        );
        for differ in [
            "jwt tenant_id",
            "header x-tenant-id",
            "jwt tenant_id and header x-tenant-id",
            "jwt sub",
            "cookie session",
            "query key",
            "san",
            "query key and san",
            "jwt plan",
            "header:x-region",
        ] {
            assert!(found.iter().any(|pair| pair.differ == differ), "{differ}");
        }
    }
}

#[test]
fn a_scope_that_leaves_out_what_the_policy_goes_by_is_a_warning_that_names_it() {
    let routes = r#"[
        {"name": "a", "match": {"path": "/a"}, "cache": {"scope": ["tenant"]}},
        {"name": "b", "match": {"path": "/b/*"}, "limits": ["region"], "cache": {"scope": ["tenant", "account", "plan"]}},
        {"name": "c", "cache": {"scope": "public"}}]"#;
    assert_eq!(
        warned(routes),
        [
            "`$.routes[0].cache.scope`: `account` is left out, which the limit `all` goes by: callers who differ in it \
             alone share a copy; add `account` unless they may",
            "`$.routes[0].cache.scope`: `plan` is left out, which the identity knows: callers who differ in it alone \
             share a copy; add `plan` unless they may",
            "`$.routes[1].cache.scope`: `header:x-region` is left out, which the limit `region` goes by: callers who \
             differ in it alone share a copy; add `header:x-region` unless they may",
        ]
    );
    // What every cache has in its key need not be in the scope.
    assert_eq!(
        warned(r#"[{"name": "a", "cache": {"scope": ["tenant", "account", "plan"]}}]"#),
        [""; 0]
    );
}

#[test]
fn a_policy_in_shadow_is_looked_at_as_if_it_were_enforced() {
    let mut policy = policy(r#"[{"name": "a", "cache": {"scope": ["tenant"]}}]"#);
    policy.mode = tidegate_core::policy::Mode::Shadow;
    assert!(!warnings(&policy).is_empty());
}

#[test]
fn what_could_not_be_shown_is_said() {
    let routes = r#"[
        {"name": "all", "match": {"path": "/a/*"}},
        {"name": "hidden", "match": {"path": "/a/b"}, "cache": {"scope": ["tenant", "account", "plan"]}},
        {"name": "fixed", "match": {"path": "/c", "headers": {"x-tenant-id": "red"}},
         "cache": {"scope": ["tenant", "account", "plan"]}}]"#;
    let warned = warned(routes);
    let about = |route: &str, differ: &str| {
        let start = format!(
            "`$.routes[{route}].cache.scope`: nothing was shown about callers who differ in `{differ}`"
        );
        assert!(
            warned.iter().any(|warning| warning.starts_with(&start)),
            "{warned:#?}"
        );
    };
    about("1", "jwt sub");
    about("2", "header x-tenant-id");
}
