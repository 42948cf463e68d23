//! One thing that was found.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use tidegate_core::policy::Mistake;

use super::position::{Position, Positions};

/// What was found at one place of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The place in the document.
    pub path: String,
    /// What is wrong, and what to write instead.
    pub message: String,
    /// How bad it is.
    pub kind: Kind,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It will be refused.
    Mistake,
    /// It will be taken, and may not be what was meant.
    Warning,
}

impl Finding {
    pub(crate) fn new(file: &Path, positions: &Positions, kind: Kind, mistake: Mistake) -> Self {
        let Mistake { path, message } = mistake;
        let found = positions.find(&path, &message);
        let Position { line, column } = found.position;
        Self {
            file: file.display().to_string(),
            line,
            column,
            path,
            message: found.message.unwrap_or(message),
            kind,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            path,
            message,
            kind,
        } = self;
        let kind = match kind {
            Kind::Mistake => "",
            Kind::Warning => "warning: ",
        };
        write!(f, "{file}:{line}:{column}: {kind}`{path}`: {message}")
    }
}
