//! One thing that is different.

use serde::Serialize;
use tidegate_core::policy::{Pointer, Step};

/// What is different, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    pub(crate) kind: Kind,
    /// The place in the new document, or in the old one if it is gone.
    pub(crate) path: String,
    /// Who is decided about differently, and how.
    pub(crate) text: String,
    #[serde(skip)]
    weight: Weight,
}

/// In which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A protection is not there any more.
    Gone,
    /// Some are let through that were refused.
    Looser,
    /// Some are refused that were let through.
    Stricter,
    /// It is decided otherwise.
    Changed,
    /// It was not there.
    New,
}

/// How many it is about; the heaviest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Every caller, or what is remembered of all.
    Everybody,
    /// The callers of a limit or a route.
    Some,
    /// No decision: what callers and people are told.
    Told,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<Change>);

impl Changes {
    /// Adds one about some callers.
    pub(crate) fn add(&mut self, kind: Kind, at: &[Step], text: impl Into<String>) {
        self.weigh(Weight::Some, kind, at, text);
    }

    /// Adds one about so many.
    pub(crate) fn weigh(
        &mut self,
        weight: Weight,
        kind: Kind,
        at: &[Step],
        text: impl Into<String>,
    ) {
        self.0.push(Change {
            kind,
            path: Pointer(at.to_vec()).to_string(),
            text: text.into(),
            weight,
        });
    }

    /// All of them, the heaviest first.
    pub(crate) fn in_order(mut self) -> Vec<Change> {
        self.0.sort_by_key(|change| (change.weight, change.kind));
        self.0
    }
}

/// A way in a document.
pub(crate) fn at(keys: &[&str]) -> Vec<Step> {
    keys.iter()
        .map(|key| Step::Key((*key).to_owned()))
        .collect()
}

/// One step further.
pub(crate) fn inside(at: &[Step], key: &str) -> Vec<Step> {
    let mut at = at.to_vec();
    at.push(Step::Key(key.to_owned()));
    at
}
