//! One mistake in a document, as its author reads it.

use std::fmt;

/// What is wrong at one place of a document.
///
/// The message is one line, begins in lower case, has the author's text in backticks and says what to
/// write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The place as a JSON path: `$.limits.account.rate`, `$.routes[2].match.path`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, message } = self;
        write!(f, "`{path}`: {message}")
    }
}

/// The author's text as a message shows it: one line, at most 64 characters of it.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String = text
        .chars()
        .take(MOST)
        .flat_map(|char| {
            let control = char.is_control();
            let escaped = control.then(|| char.escape_default());
            escaped
                .into_iter()
                .flatten()
                .chain((!control).then_some(char))
        })
        .collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// `a`, `b` or `c`, each in backticks.
pub(crate) fn any_of<T: AsRef<str>>(words: &[T]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            let last = index.saturating_add(1) == words.len();
            text.push_str(if last { " or " } else { ", " });
        }
        text.push('`');
        text.push_str(&shown(word.as_ref()));
        text.push('`');
    }
    text
}
