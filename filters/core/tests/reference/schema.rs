//! The keys of the schema, by where they stand.

use std::collections::BTreeSet;

use serde_json::Value;

/// Every place that a document may have a key at; what stands at several places alike is told once.
pub(crate) fn paths() -> BTreeSet<String> {
    let schema = tidegate_core::policy::schema();
    let mut paths = BTreeSet::new();
    walk(&schema, &schema, "", &mut paths);
    paths.into_iter().filter(|path| !is_alike(path)).collect()
}

/// A source is the same for every part of the identity, and a quota wherever it replaces another.
fn is_alike(path: &str) -> bool {
    path.starts_with("identity.account[]")
        || path.starts_with("identity.plan[]")
        || path.contains(".overrides.tenant.NAME")
        || path.contains(".overrides.account.NAME")
}

fn walk(root: &Value, schema: &Value, at: &str, paths: &mut BTreeSet<String>) {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = name.trim_start_matches('#');
        walk(root, root.pointer(pointer).unwrap(), at, paths);
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        for schema in schema
            .get(choice)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            walk(root, schema, at, paths);
        }
    }
    for (key, inner) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let at = if at.is_empty() {
            key.clone()
        } else {
            format!("{at}.{key}")
        };
        paths.insert(at.clone());
        walk(root, inner, &at, paths);
    }
    if let Some(items) = schema.get("items") {
        walk(root, items, &format!("{at}[]"), paths);
    }
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        walk(root, values, &format!("{at}.NAME"), paths);
    }
}
