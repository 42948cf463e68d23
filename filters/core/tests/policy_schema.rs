//! The JSON Schema that editors use says what the parser says, as far as a schema can.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "policy_documents/mod.rs"]
mod policy_documents;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tidegate_core::policy;

fn from_crate(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn bad(name: &str) -> Value {
    let text = fs::read(from_crate("tests/bad").join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// `UPDATE_SCHEMA=1` writes the file anew.
#[test]
fn the_schema_in_the_repository_is_current() {
    let file = from_crate("../../policies/schema.json");
    let schema = format!("{:#}\n", policy::schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &schema).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    // As values: the order of keys is not the document's.
    let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
    assert!(
        kept == policy::schema(),
        "policies/schema.json is not current; UPDATE_SCHEMA=1 writes it anew"
    );
}

#[test]
fn good_documents_fit_the_schema() {
    let validator = jsonschema::validator_for(&policy::schema()).unwrap();
    for text in policy_documents::GOOD {
        let document = serde_json::from_str(text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn documents_of_the_wrong_shape_do_not_fit() {
    let validator = jsonschema::validator_for(&policy::schema()).unwrap();
    for name in [
        "address-prefix-out-of-range",
        "always-not-a-list",
        "anonymous-unknown",
        "burst-above-an-integer",
        "burst-fraction",
        "burst-negative",
        "burst-text",
        "burst-zero",
        "cache-scope-empty",
        "cache-scope-number",
        "cache-scope-word",
        "cache-without-scope",
        "capacity-out-of-range",
        "cost-above-an-integer",
        "cost-fraction",
        "cost-header-missing",
        "cost-negative",
        "cost-text",
        "cost-zero",
        "dedupe-by-empty",
        "dedupe-status",
        "dedupe-without-by",
        "document-is-a-list",
        "document-is-empty",
        "headers-unknown",
        "idempotency-fingerprint-list",
        "idempotency-key-length",
        "idempotency-without-key",
        "idempotency-words",
        "identity-list-empty",
        "identity-list-too-long",
        "identity-not-a-list",
        "identity-san-unknown",
        "identity-secret-text",
        "identity-source-text",
        "key-null",
        "key-unknown",
        "limit-empty",
        "limit-not-an-object",
        "limits-not-an-object",
        "many",
        "match-unknown-key",
        "max-keys-out-of-range",
        "methods-empty",
        "mode-unknown",
        "override-by-route",
        "path-relative",
        "per-empty",
        "per-not-a-list",
        "per-too-many",
        "plan-without-rate",
        "policy-begins-with-a-hyphen",
        "policy-missing",
        "policy-not-a-name",
        "policy-not-text",
        "policy-too-long",
        "rate-leading-zero",
        "rate-missing",
        "rate-number",
        "rate-sign",
        "rate-unit",
        "rate-zero",
        "route-text",
        "route-without-name",
        "routes-not-a-list",
        "shadow-text",
        "store-number",
        "store-redis-without-cluster",
        "store-unknown",
        "store-without-kind",
        "version-empty",
        "version-missing",
        "version-not-a-version",
        "version-number",
    ] {
        assert!(!validator.is_valid(&bad(name)), "{name}");
    }
}

#[test]
fn every_key_says_what_it_is() {
    fn walk(schema: &Value, at: &str, silent: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(keys)) = members.get("properties") {
                    for (key, value) in keys {
                        if value.get("description").is_none() {
                            silent.push(format!("{at}.{key}"));
                        }
                    }
                }
                for (key, value) in members {
                    walk(value, &format!("{at}.{key}"), silent);
                }
            }
            Value::Array(items) => {
                for item in items {
                    walk(item, at, silent);
                }
            }
            _ => {}
        }
    }
    let mut silent = Vec::new();
    walk(&policy::schema(), "$", &mut silent);
    assert_eq!(silent, Vec::<String>::new());
}
