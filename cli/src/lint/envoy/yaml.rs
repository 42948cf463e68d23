//! YAML (and so JSON) as a tree that knows where each part stands.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};
use tidegate_core::policy::{Pointer, Step};

use crate::lint::position::{Position, Positions};

/// A value whose parts know where they stand.
#[derive(Debug)]
enum Tree {
    Scalar(Value),
    List(Vec<Spanned<Tree>>),
    Object(Vec<(Spanned<String>, Spanned<Tree>)>),
}

/// The document in a text, and where its parts stand.
///
/// # Errors
/// What is wrong with the text, and where.
pub(super) fn read(text: &str) -> Result<(Value, Positions), (String, Position)> {
    let tree: Spanned<Tree> = serde_saphyr::from_str(text).map_err(|error| {
        let position = error
            .location()
            .map_or(Position { line: 1, column: 1 }, place);
        let message = error.to_string();
        (
            message.lines().next().unwrap_or_default().to_owned(),
            position,
        )
    })?;
    let mut positions = Positions::default();
    let mut at = Pointer(Vec::new());
    positions.add(&at, place(tree.referenced));
    let value = value(tree.value, &mut at, &mut positions);
    Ok((value, positions))
}

fn value(tree: Tree, at: &mut Pointer, positions: &mut Positions) -> Value {
    match tree {
        Tree::Scalar(value) => value,
        Tree::List(items) => {
            let items = items.into_iter().enumerate();
            let values = items.map(|(index, item)| {
                at.0.push(Step::Index(index));
                positions.add(at, place(item.referenced));
                let value = value(item.value, at, positions);
                at.0.pop();
                value
            });
            Value::Array(values.collect())
        }
        Tree::Object(members) => {
            let values = members.into_iter().map(|(key, member)| {
                at.0.push(Step::Key(key.value.clone()));
                positions.add(at, place(key.referenced));
                let value = value(member.value, at, positions);
                at.0.pop();
                (key.value, value)
            });
            Value::Object(values.collect())
        }
    }
}

fn place(location: Location) -> Position {
    let number = |number: u64| usize::try_from(number).unwrap_or(1).max(1);
    Position {
        line: number(location.line()),
        column: number(location.column()),
    }
}

struct TreeVisitor;

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Object(members))
    }
}
