//! Printing: text for people, JSON for programs. Colour is for terminals alone ([`anstream`]).
//!
//! A terminal may go away and a disk be full. What cannot be told is not told: nothing that is being done ends for it.

use std::io::{ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

/// What is printed to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// Where a verb prints. Results go to standard output, progress and errors to standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
}

/// What is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What deserves a look.
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default().bold();
/// What is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What matters less.
pub(crate) const QUIET: Style = Style::new().dimmed();

/// Whether a part of the result could not be written.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether the result is as a whole where it was to be written.
pub(crate) fn is_written() -> bool {
    !UNWRITTEN.load(Ordering::Relaxed)
}

impl Output {
    pub(crate) const fn new(format: Format) -> Self {
        Self { format }
    }

    /// Whether a program reads.
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a line of text; nothing where a program reads.
    pub(crate) fn line(self, text: impl std::fmt::Display) {
        if !self.is_json() {
            self.result(text);
        }
    }

    /// Prints a result that is the same in every format. A reader that has seen enough and gone is no error; any other is told
    /// once, and [`is_written`] knows.
    pub(crate) fn result(self, text: impl std::fmt::Display) {
        if let Err(error) = writeln!(anstream::stdout(), "{text}")
            && error.kind() != ErrorKind::BrokenPipe
            && !UNWRITTEN.swap(true, Ordering::Relaxed)
        {
            self.error(&format!("the result cannot be written: {error}"));
        }
    }

    /// Prints the one JSON document; nothing where a person reads.
    ///
    /// # Errors
    /// Where a value cannot be written as JSON.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        if self.is_json() {
            self.result(serde_json::to_string_pretty(value)?);
        }
        Ok(())
    }

    /// Tells a person on standard error how it went; nothing where a program reads.
    pub(crate) fn note(self, text: &str) {
        if !self.is_json() {
            self.tell(text);
        }
    }

    /// Tells what went wrong, on standard error.
    pub(crate) fn error(self, text: &str) {
        self.tell(format_args!("{BAD}error{BAD:#}: {text}"));
    }

    /// Tells how far it is, on standard error.
    pub(crate) fn progress(self, text: impl std::fmt::Display) {
        self.tell(text);
    }

    /// Tells what deserves a look, on standard error.
    pub(crate) fn caution(self, text: &str) {
        self.tell(format_args!("{CAUTION}warning{CAUTION:#}: {text}"));
    }

    /// Tells a line more, on standard error.
    pub(crate) fn tell(self, text: impl std::fmt::Display) {
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

/// `1 case`, `2 cases`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// At most so many characters of a text; what is cut off shows as `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}
