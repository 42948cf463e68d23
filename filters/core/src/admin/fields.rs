//! What is asked for: the fields of a query, of a form, or of a JSON object.

use serde_json::Value;

use super::Asked;
use super::reply::Refusal;
use crate::identity::decode_percent;

/// The most fields of one request.
const MOST: usize = 64;

/// Fields that were not looked at yet.
#[derive(Clone)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads the query, and the body of a request that has one.
    pub(super) fn read(query: &[u8], asked: &Asked<'_>) -> Result<Self, Refusal> {
        let mut fields = Vec::new();
        form(query, &mut fields)?;
        if !asked.body.is_empty() {
            body(asked, &mut fields)?;
        }
        if fields.len() > MOST {
            return Err(Refusal::bad("these are too many fields; write at most 64"));
        }
        // An input that was left empty is one that was left out.
        fields.retain(|(_, value)| !value.trim().is_empty());
        Ok(Self(fields))
    }

    /// Takes a field out.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let Some(at) = self.0.iter().position(|(known, _)| known == name) else {
            return Ok(None);
        };
        let (_, value) = self.0.swap_remove(at);
        if self.0.iter().any(|(known, _)| known == name) {
            return Err(Refusal::bad(format!(
                "`{name}` is there twice; write it once"
            )));
        }
        Ok(Some(value))
    }

    /// Takes all fields out whose names begin with `prefix`, without it.
    pub(super) fn take_all(&mut self, prefix: &str) -> Vec<(String, String)> {
        let mut taken = Vec::new();
        self.0
            .retain(|(name, value)| match name.strip_prefix(prefix) {
                Some(rest) => {
                    taken.push((rest.to_ascii_lowercase(), value.clone()));
                    false
                }
                None => true,
            });
        taken
    }

    /// Whether any of these fields is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.0
            .iter()
            .any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Nothing may be left; `known` says what there is.
    pub(super) fn end(&self, known: &str) -> Result<(), Refusal> {
        let Some((name, _)) = self.0.first() else {
            return Ok(());
        };
        let name: String = name.chars().take(64).collect();
        let known = if known.is_empty() {
            "leave it out".to_owned()
        } else {
            format!("write one of {known}")
        };
        Err(Refusal::bad(format!(
            "`{name}` means nothing here; {known}"
        )))
    }
}

fn body(asked: &Asked<'_>, fields: &mut Vec<(String, String)>) -> Result<(), Refusal> {
    let line = asked
        .headers
        .iter()
        .find(|(name, _)| *name == b"content-type");
    let kind = line.map_or(&[][..], |(_, value)| *value);
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    match kind.trim_ascii().to_ascii_lowercase().as_slice() {
        b"application/x-www-form-urlencoded" => form(asked.body, fields),
        b"application/json" => json(asked.body, fields),
        _ => Err(Refusal::new(
            415,
            "Unsupported Media Type",
            "send `application/x-www-form-urlencoded` or `application/json`",
        )),
    }
}

fn form(text: &[u8], fields: &mut Vec<(String, String)>) -> Result<(), Refusal> {
    let decoded = |text: &[u8]| {
        let bytes = decode_percent(text, true)?.into_owned();
        String::from_utf8(bytes).ok()
    };
    for pair in text.split(|byte| *byte == b'&').filter(|p| !p.is_empty()) {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let name = halves.next().and_then(decoded);
        let value = decoded(halves.next().unwrap_or_default());
        let (Some(name), Some(value)) = (name, value) else {
            return Err(Refusal::bad(
                "a field cannot be read; encode it, a percent sign as `%25`",
            ));
        };
        fields.push((name, value));
    }
    Ok(())
}

fn json(text: &[u8], fields: &mut Vec<(String, String)>) -> Result<(), Refusal> {
    let bad = || {
        Refusal::bad(
            "the body is not an object of texts; write one, like `{\"limit\": \"account\"}`",
        )
    };
    let Ok(Value::Object(members)) = serde_json::from_slice(text) else {
        return Err(bad());
    };
    for (name, value) in members {
        let value = match value {
            Value::String(value) => value,
            Value::Bool(value) => value.to_string(),
            _ => return Err(bad()),
        };
        fields.push((name, value));
    }
    Ok(())
}
