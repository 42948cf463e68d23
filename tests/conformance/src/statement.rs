//! The statements, as they lie in `statements/`: one file for each letter.

use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// The files.
const FILES: [(char, &str); 5] = [
    ('A', include_str!("../statements/a.json")),
    ('B', include_str!("../statements/b.json")),
    ('C', include_str!("../statements/c.json")),
    ('D', include_str!("../statements/d.json")),
    ('E', include_str!("../statements/e.json")),
];

/// Statements about one subject.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chapter {
    /// The subject.
    pub(crate) title: String,
    pub(crate) statements: Vec<Statement>,
}

/// Something that a test can check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    pub(crate) number: Number,
    /// `MUST` and its like from a standard, `P-MUST` from this project.
    pub(crate) level: String,
    pub(crate) text: String,
    /// Where it is from.
    #[serde(default)]
    pub(crate) source: Option<String>,
    /// What is to be known beside its tests.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// Why it does not hold as written, or cannot.
    #[serde(default)]
    pub(crate) exception: Option<Exception>,
}

/// Why a statement has no test that shows it as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exception {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
}

/// What becomes of such a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Verdict {
    /// It holds, but not with everything that it is about.
    #[serde(rename = "not everywhere")]
    Partial,
    /// There is nothing that it could be about.
    #[serde(rename = "not applicable")]
    Inapplicable,
    /// What only should or may be done is not.
    #[serde(rename = "not done")]
    Undone,
    /// What must be done is not.
    #[serde(rename = "not met")]
    Unmet,
}

/// A letter and a number: `A1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Number {
    pub(crate) letter: char,
    pub(crate) count: u16,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.count)
    }
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        number.to_string()
    }
}

impl TryFrom<String> for Number {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::read(&text).ok_or_else(|| format!("`{text}` is no number of a statement, like `A1`"))
    }
}

impl Number {
    /// A letter from A to E, in either case, and a number from 1 without leading zeros.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut characters = text.chars();
        let letter = characters.next()?.to_ascii_uppercase();
        let digits = characters.as_str();
        let plain = !digits.starts_with('0') && digits.chars().all(|digit| digit.is_ascii_digit());
        if !plain || !FILES.iter().any(|(known, _)| *known == letter) {
            return None;
        }
        let count = digits.parse().ok()?;
        Some(Self { letter, count })
    }
}

impl Verdict {
    /// As it stands in the table.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Partial => "not everywhere",
            Self::Inapplicable => "not applicable",
            Self::Undone => "not done",
            Self::Unmet => "not met",
        }
    }
}

/// All of them, in order.
///
/// # Errors
/// A file that does not hold what it should.
pub(crate) fn chapters() -> Result<Vec<Chapter>> {
    FILES
        .iter()
        .map(|(letter, text)| {
            read(*letter, text)
                .with_context(|| format!("statements/{}.json", letter.to_ascii_lowercase()))
        })
        .collect()
}

fn read(letter: char, text: &str) -> Result<Chapter> {
    let chapter: Chapter = serde_json::from_str(text)?;
    for (statement, count) in chapter.statements.iter().zip(1..) {
        let expected = Number { letter, count };
        let number = statement.number;
        ensure!(
            number == expected,
            "`{number}` stands where `{expected}` belongs"
        );
        let optional = statement.level.contains("SHOULD") || statement.level.contains("MAY");
        match statement.exception.as_ref().map(|found| found.verdict) {
            Some(Verdict::Undone) if !optional => {
                bail!("`{number}` is a {}, so it is `not met`", statement.level)
            }
            Some(Verdict::Unmet) if optional => {
                bail!("`{number}` is a {}, so it is `not done`", statement.level)
            }
            _ => {}
        }
    }
    Ok(chapter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_there() {
        let counts: Vec<_> = chapters()
            .unwrap()
            .iter()
            .map(|chapter| chapter.statements.len())
            .collect();
        assert_eq!(counts, [43, 34, 26, 18, 12]);
    }

    #[test]
    fn a_number_is_a_letter_and_digits() {
        let shown = |text| Number::read(text).map(|number| number.to_string());
        assert_eq!(shown("a1").as_deref(), Some("A1"));
        assert_eq!(shown("E12").as_deref(), Some("E12"));
        for none in ["", "a", "a0", "a01", "f1", "1", "a1b", "a-1", "ä1"] {
            assert_eq!(shown(none), None, "{none}");
        }
    }

    #[test]
    fn a_gap_and_a_verdict_that_is_too_mild_are_mistakes() {
        let of = |number: &str, level: &str, verdict: &str| {
            let text = format!(
                r#"{{"title": "t", "statements": [{{"number": "{number}", "level": "{level}", "text": "t",
                    "exception": {{"verdict": "{verdict}", "reason": "r"}}}}]}}"#
            );
            read('A', &text)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        assert_eq!(of("A1", "P-SHOULD", "not done"), Ok(()));
        assert_eq!(of("A1", "P-MUST NOT", "not met"), Ok(()));
        for (number, level, verdict) in [
            ("A2", "MUST", "not met"),
            ("B1", "MUST", "not met"),
            ("A1", "MUST", "not done"),
            ("A1", "P-MAY", "not met"),
        ] {
            of(number, level, verdict).unwrap_err();
        }
    }
}
