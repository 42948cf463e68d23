//! A value in a file, and where it stands. Envoy's keys may be written in two ways: `snake_case` and `lowerCamelCase`.

use serde_json::Value;
use tidegate_core::cases::envoy_member;
use tidegate_core::policy::{Pointer, Step};

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'e> {
    /// The index of its file.
    pub(super) file: usize,
    steps: Vec<Step>,
    pub(super) value: &'e Value,
}

impl<'e> Node<'e> {
    pub(super) const fn root(file: usize, value: &'e Value) -> Self {
        let steps = Vec::new();
        Self { file, steps, value }
    }

    /// Its place as a JSON path.
    pub(super) fn path(&self) -> String {
        Pointer(self.steps.clone()).to_string()
    }

    /// The way to it.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it is `other` or inside of it.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.file == other.file && self.steps.starts_with(&other.steps)
    }

    /// A member.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let (key, value) = envoy_member(self.value, key)?;
        Some(self.with(Step::Key(key), value))
    }

    /// What stands at the end of a way of members.
    pub(super) fn at(&self, keys: &[&str]) -> Option<Self> {
        keys.iter()
            .try_fold(self.clone(), |node, key| node.get(key))
    }

    /// The items of a list; none if it is no list.
    pub(super) fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items
            .map(|(index, value)| self.with(Step::Index(index), value))
            .collect()
    }

    /// Everything directly inside.
    pub(super) fn children(&self) -> Vec<Self> {
        let members = self.value.as_object().into_iter().flatten();
        members
            .map(|(key, value)| self.with(Step::Key(key.clone()), value))
            .chain(self.items())
            .collect()
    }

    /// The key or index of its last step.
    pub(super) fn key(&self) -> &str {
        match self.steps.last() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }

    pub(super) fn text(&self) -> Option<&'e str> {
        self.value.as_str()
    }

    /// A whole number; Envoy takes one as text too.
    pub(super) fn number(&self) -> Option<u64> {
        self.value.as_u64().or_else(|| self.text()?.parse().ok())
    }

    /// Whether it is `true`.
    pub(super) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// Whether the member is there and `true`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|member| member.is_true())
    }

    /// The text of a member.
    pub(super) fn text_of(&self, key: &str) -> Option<&'e str> {
        self.get(key)?.text()
    }

    /// The type of an `Any`.
    pub(super) fn type_url(&self) -> &'e str {
        self.text_of("@type").unwrap_or_default()
    }

    fn with(&self, step: Step, value: &'e Value) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self {
            file: self.file,
            steps,
            value,
        }
    }
}
