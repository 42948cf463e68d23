//! Copies and whose they are, with every cache that Tidegate is for: Envoy's two, Varnish, and nginx.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod bytes;
mod changes;
mod collapse;
mod crowd;
mod each;
mod hidden;
mod leaving;
mod limits;
mod misconfigured;
mod own;
mod owner;
mod routes;
mod shadow;
mod stand;
mod storing;

use serde_json::json;
use tidegate_e2e::Answer;

/// What the origin is asked to answer with: these header lines.
const SAY: &str = "x-origin-respond-headers";

/// What many an API says of all its answers.
const PUBLIC: &[(&str, &str)] = &[("cache-control", "public, max-age=600")];

/// Header lines as [`SAY`] has them.
fn lines(lines: &[(&str, &str)]) -> String {
    json!(lines).to_string()
}

/// Nothing of Tidegate's own is in an answer.
fn is_clean(answer: &Answer) {
    for (name, value) in &answer.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        assert!(!name.as_str().starts_with("x-tidegate"), "{answer:?}");
        assert!(!value.contains("__tidegate"), "{answer:?}");
        assert!(!value.contains("x-tidegate"), "{answer:?}");
    }
    assert!(!answer.text().contains("__tidegate"), "{answer:?}");
}

/// Every line of a header, joined.
fn all(answer: &Answer, name: &str) -> String {
    let lines = answer.headers.get_all(name).iter();
    let lines: Vec<_> = lines
        .map(|v| String::from_utf8_lossy(v.as_bytes()))
        .collect();
    lines.join(", ")
}
