//! The policies of policies/, and what had to be changed in them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_e2e::repo;

/// The document `policies/NAME/policy.json`.
pub(crate) fn load(name: &str) -> Result<Value> {
    let file = repo().join("policies").join(name).join("policy.json");
    let text = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let mut policy: Value = serde_json::from_slice(&text)?;
    // For editors; relative to where the file lies.
    if let Some(document) = policy.as_object_mut() {
        document.remove("$schema");
    }
    Ok(policy)
}

/// Replaces a value that is there; returns the change in words.
pub(crate) fn change(policy: &mut Value, pointer: &str, to: Value) -> Result<String> {
    let value = policy
        .pointer_mut(pointer)
        .with_context(|| format!("the policy has no `{pointer}`"))?;
    ensure!(*value != to, "`{pointer}` is {to} already");
    let said = format!("`{pointer}` is {to} for {value} in the file");
    *value = to;
    Ok(said)
}

/// Adds what is not there; returns the change in words.
pub(crate) fn add(policy: &mut Value, at: &str, key: &str, value: Value) -> Result<String> {
    let object = policy.pointer_mut(at).and_then(Value::as_object_mut);
    let object = object.with_context(|| format!("the policy has no object `{at}`"))?;
    ensure!(!object.contains_key(key), "`{at}/{key}` is there already");
    object.insert(key.to_owned(), value);
    Ok(format!("`{at}/{key}` is added to the file's document"))
}
