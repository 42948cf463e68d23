//! The rules and the dashboard under envoy/ speak of what a real Envoy with the module tells, and of a runbook that is there.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod dashboard;
mod exported;
mod query;
mod rules;
mod runbook;

use serde_json::Value;
use tidegate_e2e::repo;

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The array at a pointer.
fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no list at `{pointer}`"))
}

/// The text of a member.
fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member]
        .as_str()
        .unwrap_or_else(|| panic!("no `{member}` in {value}"))
}

/// What a template has in it after `begin` and up to `end`.
fn placeholders<'a>(template: &'a str, begin: &str, end: &[char]) -> Vec<&'a str> {
    let parts = template.split(begin).skip(1);
    parts.filter_map(|part| part.split(end).next()).collect()
}
