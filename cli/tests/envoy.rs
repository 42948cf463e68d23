//! `tidegate lint --envoy`, as a process: what is shipped is clean, and what is broken in it is told.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{root, run_in};
use serde_json::Value;

/// Every policy in an Envoy configuration.
fn documents(value: &Value, found: &mut Vec<String>) {
    if let Some(text) = value
        .pointer("/configuration/value")
        .and_then(Value::as_str)
        && text.contains("\"policy\"")
    {
        found.push(text.to_owned());
    }
    let members = value
        .as_object()
        .into_iter()
        .flat_map(|members| members.values());
    for member in members.chain(value.as_array().into_iter().flatten()) {
        documents(member, found);
    }
}

/// The files below a folder with this ending.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") && is_envoy(&path) {
            found.push(path);
        }
    }
}

/// Whether a file is the configuration of a whole Envoy. Beside them lie files of other programs and objects of Kubernetes, which
/// may be several documents.
fn is_envoy(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap();
    text.lines().any(|line| line == "static_resources:")
}

#[test]
fn every_configuration_to_copy_is_clean_with_its_policy() {
    let mut all = Vec::new();
    files(&root().join("envoy"), &mut all);
    let mut looked_at = 0;
    // What lies in a folder of its own belongs together, and may be several Envoys.
    let folders: std::collections::BTreeSet<_> = all
        .iter()
        .filter_map(|file| file.parent())
        .filter(|folder| !folder.ends_with("envoy"))
        .map(Path::to_owned)
        .collect();
    for file in all.into_iter().chain(folders) {
        let mut texts = Vec::new();
        if file.is_dir() {
            files(&file, &mut texts);
        } else {
            texts.push(file.clone());
        }
        let mut found = Vec::new();
        for text in texts {
            let text = fs::read_to_string(text).unwrap();
            documents(&serde_saphyr::from_str(&text).unwrap(), &mut found);
        }
        let folder = tempfile::tempdir().unwrap();
        for document in &found {
            fs::write(folder.path().join("policy.json"), document).unwrap();
            let ran = run_in(
                folder.path(),
                &["lint", ".", "--envoy", file.to_str().unwrap()],
            );
            // Of the cache that callers can crash Envoy with it is said, and nothing else.
            let old = file.ends_with("envoy/cache.yaml");
            let crashes = ran.out.matches("Envoy crashes").count();
            assert_eq!(
                (ran.status, ran.out.lines().count(), crashes),
                if old { (3, 1, 1) } else { (0, 0, 0) },
                "{}: {}",
                file.display(),
                ran.out
            );
            looked_at += 1;
        }
    }
    assert!(looked_at >= 11, "{looked_at}");
}

/// A policy with a limit, and these members.
fn policy(members: &str) -> String {
    format!(
        r#"{{"policy": "guests", "version": "1", "identity": {{"account": [{{"header": "x-api-key", "secret": true}}]}},
            "limits": {{"account": {{"per": ["account"], "rate": "30/min", "burst": 3}}}}, "always": ["account"]{members}}}"#
    )
}

const ONCE: &str = r#", "routes": [{"name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "idempotency": {"key": "required"}}]"#;
const SCOPED: &str = r#", "routes": [{"name": "orders", "match": {"path": "/orders/*"}, "cache": {"scope": ["account"]}}]"#;

/// What is said about one of the configurations to copy after these edits, as `PATH MESSAGE`.
fn said(policy: &str, file: &str, edits: &[(&str, &str)]) -> Vec<String> {
    let mut text = fs::read_to_string(root().join("envoy").join(file)).unwrap();
    // The policy in the file is the one that is asked about.
    text = text.replace("\"policy\": \"storefront\"", "\"policy\": \"guests\"");
    // The edits are of the gate; the listener for operators has tests of its own.
    if let Some((before, rest)) = text.split_once(OPERATORS) {
        let (_, after) = rest.split_once("  clusters:\n").unwrap();
        text = format!("{before}  clusters:\n{after}");
    }
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    linted(policy, &text)
}

/// The first line of the listener for operators.
const OPERATORS: &str = "  # For operators";

/// What is said about a configuration, as `PATH MESSAGE`.
fn linted(policy: &str, text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.json"), policy).unwrap();
    fs::write(folder.path().join("envoy.yaml"), text).unwrap();
    let ran = run_in(
        folder.path(),
        &[
            "lint",
            "policy.json",
            "--envoy",
            "envoy.yaml",
            "--format",
            "json",
        ],
    );
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap();
    let mistakes = report["mistakes"].as_u64().unwrap();
    let status = match (mistakes, findings.len()) {
        (0, 0) => 0,
        (0, _) => 3,
        _ => 1,
    };
    assert_eq!(ran.status, status, "{report}");
    let lines: Vec<&str> = text.lines().collect();
    findings
        .iter()
        .map(|found| {
            assert_eq!(found["file"], "envoy.yaml", "{found}");
            // It points to the key that the path ends with.
            let (line, column) = (
                found["line"].as_u64().unwrap(),
                found["column"].as_u64().unwrap(),
            );
            let path = found["path"].as_str().unwrap();
            let rest: String = lines[usize::try_from(line - 1).unwrap()]
                .chars()
                .skip(usize::try_from(column - 1).unwrap())
                .collect();
            let key = path.rsplit('.').next().unwrap();
            assert!(
                key.ends_with(']') || path == "$" || rest.starts_with(key),
                "{path}: {rest}"
            );
            format!("{path} {}", found["message"].as_str().unwrap())
        })
        .collect()
}

/// Asserts that exactly these things are said: each the end of a path, and a part of a message.
fn says(policy: &str, file: &str, edits: &[(&str, &str)], expected: &[(&str, &str)]) {
    let said = said(policy, file, edits);
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, (path, message)) in said.iter().zip(expected) {
        let (found, rest) = said.split_once(' ').unwrap();
        assert!(found.ends_with(path), "{said}, not {path}");
        assert!(rest.contains(message), "{said}, not {message}");
    }
}

#[test]
fn how_a_mount_is_set_up() {
    let plain = policy("");
    says(&plain, "gate.yaml", &[], &[]);
    says(
        &plain,
        "gate.yaml",
        &[("                failure_policy: FAIL_RELOAD\n", "")],
        &[("typed_config.config", "write `failure_policy: FAIL_RELOAD`")],
    );
    says(
        &plain,
        "gate.yaml",
        &[("                  vm_id: tidegate-guests\n", "")],
        &[(".vm_config", "`vm_id` is not set")],
    );
    says(
        &plain,
        "gate.yaml",
        &[("root_id: gate", "root_id: gateway")],
        &[(
            ".root_id",
            "`gateway` is not a role; write `gate`, `origin` or `admin`",
        )],
    );
    says(
        &plain,
        "gate.yaml",
        &[("root_id: gate", "root_id: admin")],
        &[(
            "socket_address.address",
            "answers by loopback alone, and this is `0.0.0.0`",
        )],
    );
    says(
        &plain,
        "gate.yaml",
        &[("\"rate\": \"30/min\"", "\"rate\": \"30/minute\"")],
        &[(
            ".configuration.value",
            "in the policy, `$.limits.account.rate`: `30/minute` is not a rate",
        )],
    );
    says(
        &plain,
        "gate.yaml",
        &[("\"policy\": \"guests\"", "\"policy\": \"others\"")],
        &[("$", "the policy `guests` is mounted nowhere here")],
    );
}

/// What a mount is told whose module carries the policy.
#[test]
fn what_a_packed_module_is_told() {
    let text = fs::read_to_string(root().join("envoy/gate.yaml")).unwrap();
    let (before, rest) = text.split_once("                  value: |\n").unwrap();
    let (_, after) = rest.split_once("\n          - name: ").unwrap();
    let (after, _) = after.split_once(OPERATORS).unwrap();
    let told = |policy: &str, value: &str| {
        let text = format!("{before}                  value: {value}\n          - name: {after}");
        linted(policy, &text)
    };
    let plain = policy("");
    for good in [
        "''",
        "'{}'",
        r#"'{"mode": "shadow"}'"#,
        r#"'{"mode": "enforce"}'"#,
        r#"'{"canary": {"percent": 5, "by": ["account"]}}'"#,
        r#"{"canary": {"percent": 100}}"#,
    ] {
        assert_eq!(told(&plain, good), [""; 0], "{good}");
    }
    let shadowed = policy(r#", "mode": "shadow""#);
    for (policy, value, message) in [
        (
            &plain,
            r#"'{"mode": "shdow"}'"#,
            "`$.mode`: `shdow` is not known here; write `enforce` or `shadow`",
        ),
        (
            &plain,
            r#"{"canary": {"percent": 500}}"#,
            "`$.canary.percent`: `500` is out of range; write a whole number from 0 to 100",
        ),
        (
            &plain,
            r#"'{"canary": {"percent": 5, "by": ["plan"]}}'"#,
            "`$.canary.by[0]`: `plan` is never known; name its sources in `identity.plan`, or use another dimension",
        ),
        (
            &plain,
            r#"'{"mode": "shadow", "canary": {"percent": 5}}'"#,
            "`$`: the module carries policy `guests` version `1` and takes no other; leave the configuration empty, or write `{\"mode\": \"shadow\"}`, `{\"mode\": \"enforce\"}` or `{\"canary\": {\"percent\": 5}}`",
        ),
        (
            &shadowed,
            r#"'{"mode": "enforce"}'"#,
            "`$.mode`: the policy in the module is in shadow, which is enforced for nobody; pack it without",
        ),
    ] {
        let said = told(policy, value);
        let [only] = said.as_slice() else {
            panic!("{value}: {said:#?}");
        };
        let expected = format!(".configuration.value beside the policy in the module, {message}");
        assert!(only.ends_with(&expected), "{value}: {only}");
    }
}

/// Envoy goes past a mount that is turned off, and says nothing of it.
#[test]
fn a_mount_that_is_turned_off() {
    let plain = policy("");
    let filter = "          - name: tidegate\n";
    let off = format!("{filter}            disabled: true\n");
    let route = "                route: {cluster: origin}\n";
    let with = |name: &str, config: &str| {
        let own = r#""@type": type.googleapis.com/envoy.config.route.v3.FilterConfig"#;
        format!("{route}                typed_per_filter_config: {{{name}: {{{own}, {config}}}}}\n")
    };
    says(
        &plain,
        "gate.yaml",
        &[(filter, &off)],
        &[(
            "http_filters[0]",
            "this mount is turned off, and no route turns it on",
        )],
    );
    says(
        &plain,
        "gate.yaml",
        &[(route, &with("tidegate", "disabled: true"))],
        &[(
            "typed_per_filter_config.tidegate",
            "this turns the mount `tidegate` off: nothing is decided here; take `disabled` away",
        )],
    );
    // Where it is off, and a route turns it on, somebody meant it; and others' filters are theirs.
    let on = with("tidegate", "config: {}");
    says(&plain, "gate.yaml", &[(filter, &off), (route, &on)], &[]);
    let other = with("lua", "disabled: true");
    says(&plain, "gate.yaml", &[(route, &other)], &[]);
}

#[test]
fn the_role_for_operators_is_private_and_has_the_state_of_the_gate() {
    let text = fs::read_to_string(root().join("envoy/gate.yaml")).unwrap();
    let (gate, operators) = text.split_once(OPERATORS).unwrap();
    let says = |policy: &str, from: &str, to: &str, expected: Option<&str>| {
        assert!(operators.contains(from), "{from}");
        let text = format!("{gate}{OPERATORS}{}", operators.replacen(from, to, 1));
        let said = linted(policy, &text);
        assert_eq!(said.len(), usize::from(expected.is_some()), "{said:#?}");
        if let Some(expected) = expected {
            assert!(said[0].contains(expected), "{said:#?}");
        }
    };
    let plain = policy("");
    says(&plain, "address: 127.0.0.1", "address: 127.0.0.2", None);
    says(
        &plain,
        "address: 127.0.0.1",
        "address: 10.1.2.3",
        Some("this is `10.1.2.3`"),
    );
    let addresses = policy(r#", "admin": {"addresses": ["10.0.0.0/8"]}"#);
    says(&addresses, "address: 127.0.0.1", "address: 10.1.2.3", None);
    says(&addresses, "address: 127.0.0.1", "address: 0.0.0.0", None);
    says(
        &addresses,
        "address: 127.0.0.1",
        "address: 192.0.2.1",
        Some("admin.addresses"),
    );
    says(
        &plain,
        "vm_id: tidegate-guests",
        "vm_id: tidegate-live",
        Some("kept under `tidegate-guests`; write that"),
    );
    says(
        &plain,
        "                allow_on_headers_stop_iteration: true\n",
        "",
        Some("would hang"),
    );
}

#[test]
fn one_path_for_all() {
    says(
        &policy(""),
        "gate.yaml",
        &[
            ("normalize_path: true", "normalize_path: false"),
            ("          merge_slashes: true\n", ""),
        ],
        &[
            ("typed_config", "write `merge_slashes: true`"),
            (".normalize_path", "write `normalize_path: true`"),
        ],
    );
}

#[test]
fn bodies_have_to_be_read() {
    let once = policy(ONCE);
    says(&once, "gate.yaml", &[], &[]);
    says(
        &once,
        "gate.yaml",
        &[(
            "                allow_on_headers_stop_iteration: true\n",
            "",
        )],
        &[(
            "typed_config.config",
            "write `allow_on_headers_stop_iteration: true`",
        )],
    );
    // Who reads none does not need it.
    says(
        &policy(""),
        "gate.yaml",
        &[(
            "                allow_on_headers_stop_iteration: true\n",
            "",
        )],
        &[],
    );
    let large = once.replace("\"required\"}", "\"required\", \"max_body\": \"2MiB\"}");
    let listener = "  - name: ingress\n";
    let limit = "  - name: ingress\n    per_connection_buffer_limit_bytes: 4194304\n";
    says(
        &large,
        "gate.yaml",
        &[],
        &[(
            "listeners[0]",
            "write `per_connection_buffer_limit_bytes: 2097152`",
        )],
    );
    says(&large, "gate.yaml", &[(listener, limit)], &[]);
    says(
        &once,
        "gate.yaml",
        &[(listener, &limit.replace("4194304", "65536"))],
        &[(
            ".per_connection_buffer_limit_bytes",
            "Envoy holds 65536 bytes",
        )],
    );
}

#[test]
fn a41_what_is_made_once_is_not_sent_again_by_envoy() {
    let route = "route: {cluster: origin}";
    let again = [(
        route,
        "route: {cluster: origin, retry_policy: {retry_on: 5xx}}",
    )];
    says(
        &policy(ONCE),
        "gate.yaml",
        &again,
        &[(".route.retry_policy", "leave `retry_policy` out for it")],
    );
    says(&policy(""), "gate.yaml", &again, &[]);
    says(
        &policy(ONCE),
        "gate.yaml",
        &[(
            route,
            "route: {cluster: origin, hedge_policy: {hedge_on_per_try_timeout: true}}",
        )],
        &[(".route.hedge_policy", "leave `hedge_policy` out for it")],
    );
    says(
        &policy(ONCE),
        "gate.yaml",
        &[(
            route,
            "route: {cluster: origin}\n                request_headers_to_add: [{header: {key: X-Envoy-Retry-On, value: 5xx}}]",
        )],
        &[(
            "request_headers_to_add[0]",
            "`x-envoy-retry-on` has Envoy send a request again",
        )],
    );
}

/// The filter `jwt_authn`, that leaves the claims under this name.
fn jwt(payload: &str) -> String {
    format!(
        "          - name: jwt\n            typed_config:\n              \"@type\": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication\n              providers: {{idp: {{issuer: i, payload_in_metadata: {payload}}}}}\n"
    )
}

#[test]
fn claims_are_verified_before_the_gate() {
    let claims = policy("").replace(
        r#"{"header": "x-api-key", "secret": true}"#,
        r#"{"jwt": "sub"}"#,
    );
    let (gate, router) = (
        "          - name: tidegate\n",
        "          - name: envoy.filters.http.router\n",
    );
    says(
        &claims,
        "gate.yaml",
        &[],
        &[(
            "http_filters[0]",
            "no `jwt_authn` before the gate verifies any",
        )],
    );
    let with = |at: &'static str, payload| (at, format!("{}{at}", jwt(payload)));
    let (at, text) = with(gate, "jwt_payload");
    says(&claims, "gate.yaml", &[(at, &text)], &[]);
    let (at, text) = with(router, "jwt_payload");
    says(
        &claims,
        "gate.yaml",
        &[(at, &text)],
        &[("http_filters[0]", "`jwt_authn` stands behind the gate")],
    );
    let (at, text) = with(gate, "other");
    says(
        &claims,
        "gate.yaml",
        &[(at, &text)],
        &[(
            "http_filters[1]",
            "write `payload_in_metadata: jwt_payload`",
        )],
    );
}

#[test]
fn d15_names_in_certificates_want_certificates_that_are_validated() {
    let by_name = policy("").replace(
        r#"{"header": "x-api-key", "secret": true}"#,
        r#"{"san": "uri"}"#,
    );
    let chain = "    - filters:\n";
    // A transport socket that asks for certificates, or does not, with this in its common context.
    let tls = |asks: bool, common: &str| {
        let socket = "typed_config: {\"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext";
        format!(
            "    - transport_socket:\n        name: tls\n        {socket},\n          require_client_certificate: {asks}, common_tls_context: {{{common}}}}}\n      filters:\n"
        )
    };
    let said = |policy: &str, asks, common: &str, expected: &[(&str, &str)]| {
        says(
            policy,
            "gate.yaml",
            &[(chain, &tls(asks, common))],
            expected,
        );
    };
    let trusted = "validation_context: {trusted_ca: {filename: ca.pem}";
    let any = (
        "require_client_certificate",
        "add a `validation_context` with a `trusted_ca`",
    );
    for common in [
        "",
        "validation_context: {}",
        "combined_validation_context: {default_validation_context: {match_typed_subject_alt_names: []}}",
    ] {
        said(&by_name, true, common, &[any]);
        // Where none is asked for there is none; and who is known otherwise does not depend on any.
        said(&by_name, false, common, &[]);
        said(&policy(""), true, common, &[]);
    }
    for common in [
        &format!("{trusted}}}"),
        "validation_context: {verify_certificate_spki: [x]}",
        "validation_context_sds_secret_config: {name: ca}",
        "combined_validation_context: {default_validation_context: {}, validation_context_sds_secret_config: {name: ca}}",
    ] {
        said(&by_name, true, common, &[]);
    }
    let untrusted = format!("{trusted}, trust_chain_verification: ACCEPT_UNTRUSTED}}");
    for asks in [true, false] {
        let found = (
            "trust_chain_verification",
            "leave `trust_chain_verification` out",
        );
        said(&by_name, asks, &untrusted, &[found]);
    }
}

#[test]
fn keys_are_in_the_environment() {
    let signed = policy("").replace(
        r#""identity": {"#,
        r#""identity": {"address": {"signed": {"header": "x-client", "key_env": "ADDRESS_KEY"}}, "#,
    );
    says(
        &signed,
        "gate.yaml",
        &[],
        &[(".vm_config", "`environment_variables` has no `ADDRESS_KEY`")],
    );
    let id = "vm_id: tidegate-guests\n";
    says(
        &signed,
        "gate.yaml",
        &[(
            id,
            "vm_id: tidegate-guests\n                  environment_variables: {key_values: {ADDRESS_KEY: k}}\n",
        )],
        &[],
    );
    says(
        &policy(SCOPED),
        "cache-v2.yaml",
        &[(
            "environment_variables: {host_env_keys: [TIDEGATE_SCOPE_KEY]}",
            "environment_variables: {}",
        )],
        &[(
            ".vm_config",
            "`environment_variables` has no `TIDEGATE_SCOPE_KEY`",
        )],
    );
}

#[test]
fn c13_around_envoys_own_cache() {
    let scoped = policy(SCOPED);
    says(&scoped, "cache-v2.yaml", &[], &[]);
    says(
        &scoped,
        "cache.yaml",
        &[],
        &[("http_filters[1]", "Envoy crashes when a caller hangs up")],
    );
    says(
        &scoped,
        "cache-v2.yaml",
        &[(
            "vm_id: tidegate-storefront-origin",
            "vm_id: tidegate-storefront",
        )],
        &[(
            ".vm_id",
            "`tidegate-storefront` is the `vm_id` of a mount as `gate` too",
        )],
    );
    says(
        &scoped,
        "cache-v2.yaml",
        &[
            ("root_id: origin", "root_id: gate"),
            (
                "vm_id: tidegate-storefront-origin",
                "vm_id: tidegate-storefront",
            ),
        ],
        &[
            (
                "clusters[0]",
                "`origin` has no role `origin` that judges what may be kept",
            ),
            (
                "http_filters[0]",
                "the gate stands among the filters of a cluster",
            ),
        ],
    );
    says(
        &scoped.replace("[\"account\"]}}]", "[\"account\"], \"by\": \"header\"}}]"),
        "cache-v2.yaml",
        &[],
        &[("http_filters[1]", "write `\"by\": \"path\"`")],
    );
}

#[test]
fn b28_the_gate_stands_before_cache_and_router() {
    let (first, last) = ("          - name: tidegate\n", "          route_config:\n");
    for (name, kind, message) in [
        (
            "cache",
            "cache_v2.v3.CacheV2Config",
            "the gate stands behind a cache filter",
        ),
        (
            "router",
            "router.v3.Router",
            "the gate stands behind the router",
        ),
    ] {
        let filter = format!(
            "          - name: {name}\n            typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.{kind}}}\n{first}"
        );
        says(
            &policy(""),
            "gate.yaml",
            &[(first, &filter)],
            &[("http_filters[1]", message)],
        );
    }
    let origin = format!(
        "          - name: back\n            typed_config:\n              \"@type\": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm\n              config: {{root_id: origin, failure_policy: FAIL_RELOAD, vm_config: {{vm_id: back}}}}\n{last}"
    );
    says(
        &policy(SCOPED),
        "cache-v2.yaml",
        &[(last, &origin)],
        &[(
            "http_filters[3]",
            "do not pass the role `origin` in a listener",
        )],
    );
}

#[test]
fn resources_that_are_sent_apart_are_part_of_their_envoy() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("policy.json", &policy(ONCE));
    let bootstrap = r#"{"static_resources": {"listeners": [{"filter_chains": [{"filters": [{"typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "normalizePath": true, "mergeSlashes": true,
        "http_filters": [
          {"name": "gate", "config_discovery": {"type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"]}},
          {"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}
        ]}}]}]}]}}"#;
    let sent = r#"{"resources": [{"@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig", "name": "gate",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm", "config": {
          "root_id": "gate", "failure_policy": "FAIL_RELOAD", "vm_config": {"vm_id": "v"}}}}]}"#;
    fs::create_dir(folder.path().join("envoy")).unwrap();
    write("envoy/bootstrap.json", bootstrap);
    let arguments = ["lint", "policy.json", "--envoy", "envoy"];
    // The mount is not here: nothing can be said of it.
    let ran = run_in(folder.path(), &arguments);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    write("envoy/gate.json", sent);
    let ran = run_in(folder.path(), &arguments);
    assert_eq!(ran.status, 3);
    assert!(ran.out.starts_with("envoy/gate.json:2:"), "{}", ran.out);
    assert!(
        ran.out.contains("allow_on_headers_stop_iteration"),
        "{}",
        ran.out
    );
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
}

#[test]
fn a_configuration_in_which_nothing_is_deserves_a_look() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.json"), policy("")).unwrap();
    for text in ["", "# envoy\n", "{}"] {
        fs::write(folder.path().join("envoy.yaml"), text).unwrap();
        let arguments = ["lint", "policy.json", "--envoy", "envoy.yaml"];
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(ran.out.contains("there is nothing in this file"), "{ran:?}");
    }
}

#[test]
fn a_configuration_that_is_no_yaml_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.json"), policy("")).unwrap();
    fs::write(folder.path().join("envoy.yaml"), "a: b\n c: [d\n").unwrap();
    let ran = run_in(
        folder.path(),
        &["lint", "policy.json", "--envoy", "envoy.yaml"],
    );
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.starts_with("envoy.yaml:"), "{}", ran.out);
    assert!(ran.out.contains("`$`: not YAML: "), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    let ran = run_in(
        folder.path(),
        &["lint", "policy.json", "--envoy", "none.yaml"],
    );
    assert_eq!(ran.status, 4);
}
