//! Messages as bytes: heads of requests and answers, and what is looked for in an answer.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::history::{Answer, Micros};
use crate::people::{SECRET, SECRET_LEN};

/// The head of a message: its first line and its header lines, names in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    first: String,
    lines: Vec<(String, String)>,
}

impl Head {
    /// Reads a head; what is no UTF-8 is replaced.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        Self {
            first: lines.next().unwrap_or_default().to_owned(),
            lines: lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
        }
    }

    /// A head of these parts.
    pub(crate) fn new(status: u16, lines: Vec<(String, String)>) -> Self {
        Self {
            first: format!("HTTP/2 {status}"),
            lines,
        }
    }

    pub(crate) fn method(&self) -> &str {
        self.first.split(' ').next().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> u16 {
        self.path().parse().unwrap_or(0)
    }

    /// The first line of a header.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let found = self.lines.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn length(&self) -> Option<u64> {
        self.one("content-length")?.parse().ok()
    }

    pub(crate) fn has_body(&self) -> bool {
        self.length().is_some_and(|length| length > 0) || self.one("transfer-encoding").is_some()
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.iter().take(8);
        let lines: Vec<_> = lines
            .map(|(name, value)| format!("{name}: {value:.60}"))
            .collect();
        format!("{:.80} | {}", self.first, lines.join(" | "))
    }

    /// What a caller got by this head and body.
    pub(crate) fn answer(&self, body: &[u8], whole: bool, at: Micros) -> Answer {
        let mut secrets = BTreeSet::new();
        find_secrets(body, &mut secrets);
        for (_, value) in &self.lines {
            find_secrets(value.as_bytes(), &mut secrets);
        }
        let named = self.names().find(|name| name.starts_with("x-tidegate"));
        let text = String::from_utf8_lossy(body);
        let in_text = text
            .contains("__tidegate=")
            .then_some("__tidegate in a body");
        let problem = self.one("content-type") == Some("application/problem+json");
        let problem = problem
            .then(|| serde_json::from_slice::<Value>(body).ok())
            .flatten()
            .and_then(|problem| Some(problem["type"].as_str()?.to_owned()));
        Answer {
            status: self.status(),
            made_for: self.one("x-number").and_then(|number| number.parse().ok()),
            replayed: self.one("idempotent-replayed").is_some(),
            problem,
            secrets,
            ours: named.or(in_text).map(str::to_owned),
            body: digest(body),
            whole,
            at,
        }
    }
}

/// A digest, to tell bodies apart by.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn find_secrets(mut bytes: &[u8], secrets: &mut BTreeSet<String>) {
    while let Some(at) = bytes.windows(SECRET.len()).position(|w| w == SECRET) {
        let from = &bytes[at..];
        let end = SECRET_LEN.min(from.len());
        secrets.insert(String::from_utf8_lossy(&from[..end]).into_owned());
        bytes = &from[SECRET.len()..];
    }
}
