//! Where in a file a place of its document stands.

use std::collections::HashMap;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use tidegate_core::policy::{Pointer, Step};

/// A place in a text; both numbers begin with 1, and columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

const START: Position = Position { line: 1, column: 1 };

/// Where each place of a document stands: a member at its key, an item at its first character.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    places: HashMap<String, Vec<Position>>,
}

/// Where something was found.
pub(crate) struct Found {
    pub(crate) position: Position,
    /// The message without its place, where the message had it.
    pub(crate) message: Option<String>,
}

impl Positions {
    /// The places of a JSON text; none where it is not JSON.
    pub(crate) fn of_json(text: &[u8]) -> Self {
        let mut positions = Self::default();
        let Ok(text) = core::str::from_utf8(text) else {
            return positions;
        };
        // The depth of what `serde_json` takes is bounded; what it does not take has no places.
        if serde_json::from_str::<serde_json::Value>(text).is_err() {
            return positions;
        }
        let strict = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &strict);
        if let Some(value) = parsed.ok().and_then(|parsed| parsed.value) {
            let lines = Lines::new(text);
            let start = lines.position(value.start());
            positions.add(&Pointer(Vec::new()), start);
            positions.walk(&value, &mut Pointer(Vec::new()), &lines);
        }
        positions
    }

    /// Says where a place stands.
    pub(crate) fn add(&mut self, place: &Pointer, position: Position) {
        let places = self.places.entry(place.to_string()).or_default();
        places.push(position);
    }

    fn walk(&mut self, value: &Value<'_>, at: &mut Pointer, lines: &Lines<'_>) {
        match value {
            Value::Object(object) => {
                for member in &object.properties {
                    let (name, start) = match &member.name {
                        ObjectPropName::String(text) => (text.value.as_ref(), text.range.start),
                        ObjectPropName::Word(word) => (word.value, word.range.start),
                    };
                    at.0.push(Step::Key(name.to_owned()));
                    self.add(at, lines.position(start));
                    self.walk(&member.value, at, lines);
                    at.0.pop();
                }
            }
            Value::Array(array) => {
                for (index, item) in array.elements.iter().enumerate() {
                    at.0.push(Step::Index(index));
                    self.add(at, lines.position(item.start()));
                    self.walk(item, at, lines);
                    at.0.pop();
                }
            }
            _ => {}
        }
    }

    /// Where a mistake stands. One about text that is no JSON says so itself.
    pub(crate) fn find(&self, path: &str, message: &str) -> Found {
        if self.places.is_empty()
            && let Some((message, position)) = told(message)
        {
            let message = Some(message);
            return Found { position, message };
        }
        // Of a key that stands twice, the second one is the mistake.
        let twice = message.starts_with("this key stands here twice");
        Found {
            position: self.nearest(path, twice),
            message: None,
        }
    }

    /// Where `path` stands, or the nearest place around it that is there.
    fn nearest(&self, path: &str, last: bool) -> Position {
        let mut path = path;
        loop {
            if let Some(places) = self.places.get(path) {
                let place = if last { places.last() } else { places.first() };
                return place.copied().unwrap_or(START);
            }
            let Some(end) = path.rfind(['.', '[']) else {
                return START;
            };
            path = path.get(..end).unwrap_or_default();
        }
    }
}

/// What `serde_json` says about text, and where that is.
fn told(message: &str) -> Option<(String, Position)> {
    let (message, place) = message.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let position = Position {
        line: line.max(1),
        column: column.max(1),
    };
    Some((message.to_owned(), position))
}

/// A text by lines.
struct Lines<'t> {
    text: &'t str,
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = ends.map(|(index, _)| index.saturating_add(1));
        Self {
            text,
            starts: core::iter::once(0).chain(starts).collect(),
        }
    }

    fn position(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts.get(line.saturating_sub(1)).copied();
        let before = self.text.get(start.unwrap_or(0)..byte).unwrap_or_default();
        Position {
            line,
            column: before.chars().count().saturating_add(1),
        }
    }
}
