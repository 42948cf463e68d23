//! Envoy's configuration as JSON: every key may be written in two ways.

use serde_json::Value;

use crate::policy::{Pointer, Step};

/// A member of an Envoy configuration and the key by which it is written: `snake_case`, or the same in `lowerCamelCase`.
pub fn get<'v>(value: &'v Value, key: &str) -> Option<(String, &'v Value)> {
    let camel = camel(key);
    [key, &camel]
        .into_iter()
        .find_map(|key| Some((key.to_owned(), value.get(key)?)))
}

fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        camel.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(chars.as_str());
    }
    camel
}

/// The members of a list; none if it is no list.
pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// One step further.
pub(super) fn with(at: &[Step], step: Step) -> Vec<Step> {
    let mut at = at.to_vec();
    at.push(step);
    at
}

/// A place as a JSON path.
pub(super) fn path(at: &[Step]) -> String {
    Pointer(at.to_vec()).to_string()
}
