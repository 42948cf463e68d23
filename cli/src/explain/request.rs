//! The request that is asked about, from what was typed.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use tidegate_core::cases::CaseRequest;

use crate::policy_file;

/// What was typed about a request.
#[derive(Debug)]
pub(crate) struct Given<'g> {
    /// `METHOD PATH`, `PATH`, JSON, or `@FILE` with JSON.
    pub(crate) request: Option<&'g str>,
    pub(crate) host: Option<&'g str>,
    /// `NAME: VALUE` each.
    pub(crate) headers: &'g [String],
    /// JSON.
    pub(crate) claims: Option<&'g str>,
    pub(crate) address: Option<&'g str>,
    pub(crate) body: Option<&'g str>,
}

/// The request that is meant.
///
/// # Errors
/// What cannot be read of it.
pub(crate) fn request(given: &Given<'_>) -> Result<CaseRequest> {
    let mut members = match given.request {
        Some(text) => members(text.trim())?,
        None => Map::new(),
    };
    for (key, value) in [
        ("host", given.host),
        ("address", given.address),
        ("body", given.body),
    ] {
        if let Some(value) = value {
            members.insert(key.to_owned(), value.into());
        }
    }
    if let Some(claims) = given.claims {
        let claims: Value = serde_json::from_str(claims).context("`--claims` is not JSON")?;
        if !claims.is_object() {
            bail!("`--claims` is not an object; write it like `{{\"sub\": \"ann\"}}`");
        }
        members.insert("claims".to_owned(), claims);
    }
    if !given.headers.is_empty() {
        let lines = members.entry("headers").or_insert_with(|| json!([]));
        let Value::Array(lines) = lines else {
            bail!(
                "`headers` of the request are not a list; write them like `[[\"x-api-key\", \"k-1\"]]`"
            );
        };
        for line in given.headers {
            let Some((name, value)) = line.split_once(':') else {
                bail!("`{line}` is not a header line; write it like `x-api-key: k-1`");
            };
            // As HTTP has them: names in lower case, no space around values.
            lines.push(json!([name.trim().to_ascii_lowercase(), value.trim()]));
        }
    }
    serde_json::from_value(Value::Object(members)).context("the request cannot be read")
}

/// The members of a request in JSON.
fn members(text: &str) -> Result<Map<String, Value>> {
    let json = match text.strip_prefix('@') {
        Some(file) => String::from_utf8(policy_file::read(Path::new(file))?)
            .with_context(|| format!("`{file}` is not text in UTF-8"))?,
        None if text.starts_with('{') => text.to_owned(),
        None => return line(text),
    };
    match serde_json::from_str(&json).context("`--request` is not JSON")? {
        Value::Object(members) => Ok(members),
        _ => bail!("`--request` is not an object; write it like `{{\"path\": \"/search\"}}`"),
    }
}

/// `METHOD PATH`, or a path.
fn line(text: &str) -> Result<Map<String, Value>> {
    let (method, path) = match text.split_once(' ') {
        Some((method, path)) => (Some(method), path.trim()),
        None => (None, text),
    };
    if !path.starts_with(['/', '*']) {
        bail!(
            "`{text}` is not a request; write it like `GET /search`, or as JSON, or `@FILE` with JSON in it"
        );
    }
    let mut members = Map::new();
    if let Some(method) = method {
        members.insert("method".to_owned(), method.into());
    }
    members.insert("path".to_owned(), path.into());
    Ok(members)
}
