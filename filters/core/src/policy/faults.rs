//! The faults found so far: what is read, and what is compiled, reports here and goes on.

use std::ops::ControlFlow;

use deserr::{
    DeserializeError, ErrorKind, IntoValue, MergeWithError, Value, ValueKind, ValuePointerRef,
};

use super::json::Json;
use super::mistake::{Mistake, any_of, shown};
use super::nearest::nearest;
use super::pointer::{Pointer, Step};

/// How many faults are listed; a document with more is not looked at further.
const MOST_FAULTS: usize = 256;

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

/// A [`Mistake`] that still knows its place.
#[derive(Debug)]
struct Fault {
    at: Pointer,
    message: String,
    unknown_key: bool,
}

impl Faults {
    /// Reports a fault.
    #[inline(never)]
    pub(crate) fn add(&mut self, at: ValuePointerRef<'_>, message: impl Into<String>) {
        self.push(Fault {
            at: at.into(),
            message: message.into(),
            unknown_key: false,
        });
    }

    /// Reports that a required key is absent, unless it stands there with a fault of its own.
    pub(crate) fn missing(&mut self, at: ValuePointerRef<'_>, key: &str, example: &str) {
        if !self.within(at.push_key(key)) {
            self.add(at, format!("missing key `{key}`; write {example}"));
        }
    }

    /// Reports that a list has more than `most` entries, if it has.
    pub(crate) fn at_most(
        &mut self,
        at: ValuePointerRef<'_>,
        most: usize,
        count: usize,
        entries: &str,
    ) {
        if count > most {
            self.add(
                at,
                format!("{count} {entries} are too many; write at most {most}"),
            );
        }
    }

    /// Takes over all faults of `other`.
    pub(crate) fn append(&mut self, other: Faults) {
        for fault in other.0 {
            self.push(fault);
        }
    }

    /// Whether a fault was found at this place or inside it: then what follows from it is no news.
    pub(crate) fn within(&self, at: ValuePointerRef<'_>) -> bool {
        let at = Pointer::from(at);
        self.0.iter().any(|fault| fault.at.0.starts_with(&at.0))
    }

    /// Whether no more are listed.
    pub(crate) fn full(&self) -> bool {
        self.0.len() >= MOST_FAULTS
    }

    /// Whether none was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes everything that has a fault out of the document, so that the rest of it can be read.
    pub(crate) fn prune(&self, json: &mut Json) {
        for fault in &self.0 {
            let rest = if fault.unknown_key {
                Json::Gone
            } else {
                Json::Null
            };
            json.replace(&fault.at, rest);
        }
    }

    /// The mistakes in the order in which the document reads, none twice.
    pub(crate) fn into_mistakes(mut self, json: Option<&Json>) -> Vec<Mistake> {
        if let Some(json) = json {
            self.0.sort_by_cached_key(|fault| json.position(&fault.at));
        }
        let mut mistakes = Vec::new();
        for Fault { at, message, .. } in self.0 {
            let path = at.to_string();
            let mistake = Mistake { path, message };
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
        mistakes
    }

    #[inline(never)]
    fn push(&mut self, fault: Fault) {
        if !self.full() {
            self.0.push(fault);
        }
    }
}

// Both are called for each key of each object. That they always go on is in plain sight of the optimizer, and what
// they do is out of line: else this is a third of the module.
impl MergeWithError<Faults> for Faults {
    #[inline(always)]
    fn merge(
        self_: Option<Self>,
        other: Faults,
        _: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        ControlFlow::Continue(merged(self_, other))
    }
}

impl DeserializeError for Faults {
    #[inline(always)]
    fn error<V: IntoValue>(
        self_: Option<Self>,
        error: ErrorKind<'_, V>,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        ControlFlow::Continue(reported(self_, error, at))
    }
}

#[inline(never)]
fn merged(faults: Option<Faults>, other: Faults) -> Faults {
    let mut faults = faults.unwrap_or_default();
    faults.append(other);
    faults
}

#[inline(never)]
fn reported<V: IntoValue>(
    faults: Option<Faults>,
    error: ErrorKind<'_, V>,
    at: ValuePointerRef<'_>,
) -> Faults {
    let mut faults = faults.unwrap_or_default();
    if faults.full() {
        return faults;
    }
    match error {
        ErrorKind::IncorrectValueKind { actual, accepted } => {
            let (kinds, found) = (kinds(accepted, actual.kind()), found(&actual));
            faults.add(at, format!("expected {kinds}, found {found}"));
        }
        ErrorKind::MissingField { field } => faults.add(at, format!("missing key `{field}`")),
        ErrorKind::UnknownKey { key, accepted } => {
            let hint = match nearest(key, accepted) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write {}", any_of(accepted)),
            };
            let mut at = Pointer::from(at);
            at.0.push(Step::Key(key.to_owned()));
            faults.push(Fault {
                at,
                message: format!("unknown key `{}`; {hint}", shown(key)),
                unknown_key: true,
            });
        }
        ErrorKind::UnknownValue { value, accepted } => {
            let (value, words) = (shown(value), any_of(accepted));
            faults.add(at, format!("`{value}` is not known here; write {words}"));
        }
        ErrorKind::BadSequenceLen { expected, .. } => {
            faults.add(at, format!("expected a list of {expected}"));
        }
        ErrorKind::Unexpected { msg } => faults.add(at, msg),
    }
    faults
}

/// What is accepted, in words; whoever wrote another number learns the bounds.
fn kinds(accepted: &[ValueKind], actual: ValueKind) -> String {
    let number = match actual {
        ValueKind::NegativeInteger | ValueKind::Float => {
            "a whole number from 0 to 999,999,999,999,999"
        }
        _ => "a whole number",
    };
    let words: Vec<&str> = accepted
        .iter()
        .map(|kind| match kind {
            ValueKind::Null => "`null`",
            ValueKind::Boolean => "`true` or `false`",
            ValueKind::Integer => number,
            ValueKind::NegativeInteger | ValueKind::Float => "a number",
            ValueKind::String => "text",
            ValueKind::Sequence => "a list",
            ValueKind::Map => "an object",
        })
        .collect();
    words.join(" or ")
}

fn found<V: IntoValue>(actual: &Value<V>) -> String {
    match actual {
        Value::Null => "`null`".to_owned(),
        Value::Boolean(value) => format!("`{value}`"),
        Value::Integer(value) => format!("the number `{value}`"),
        Value::NegativeInteger(value) => format!("the number `{value}`"),
        // The number itself would bring the formatting of floats, 20 KB, into the module.
        Value::Float(_) => "a number with a fraction, an exponent or too many digits".to_owned(),
        Value::String(value) => format!("the text `{}`", shown(value)),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Map(_) => "an object".to_owned(),
    }
}
