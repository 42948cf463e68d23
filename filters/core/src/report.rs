//! Lines of the log about requests: one JSON object each, with what somebody needs who looks for the request elsewhere. Each kind
//! is told once per interval, with how often it happened since. What is refused is in [`crate::ledger::line`].

use serde_json::{Map, Value};

use crate::ledger::Example;
use crate::policy::Policy;
use crate::ruling::Direction;

/// What happened so often since it was told last.
#[derive(Debug, Clone, Copy)]
pub enum Report<'a> {
    /// Responses were withheld, because they were not their caller's.
    Mismatch {
        /// What was wrong with the last one.
        last: &'a str,
    },
    /// A policy in shadow would have decided otherwise than the one in force.
    Disagreement {
        /// The rule that they disagree about.
        rule: &'a str,
        /// In which direction.
        direction: Direction,
        /// The method of the last such request.
        method: &'a str,
        /// Its path, without the query, which may hold a key.
        path: &'a str,
        /// What was decided about it.
        decision: &'a str,
        /// What would have been.
        in_shadow: &'a str,
    },
}

impl Report<'_> {
    /// The line, of something that happened `count` times.
    pub fn json(self, policy: &Policy, count: u64, example: &Example) -> String {
        let mut line = match self {
            Self::Mismatch { last } => {
                object([("log", "tidegate.mismatch".into()), ("last", last.into())])
            }
            Self::Disagreement {
                rule,
                direction,
                method,
                path,
                decision,
                in_shadow,
            } => object([
                ("log", "tidegate.disagreement".into()),
                ("rule", rule.into()),
                ("direction", direction.word().into()),
                ("method", method.into()),
                ("path", path.into()),
                ("decision", decision.into()),
                ("in_shadow", in_shadow.into()),
            ]),
        };
        line.extend(object([
            ("policy", policy.name.as_str().into()),
            ("version", policy.version.as_str().into()),
            ("count", count.into()),
            ("trace_id", example.trace.as_deref().into()),
            ("request_id", example.id.as_deref().into()),
        ]));
        Value::Object(line).to_string()
    }
}

/// An object of these members, without those that are null.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    let mut object = Map::new();
    insert(&mut object, &mut members.into_iter());
    object
}

/// Apart, and one by one, so that it is in the module once and not for each number of members, with a sort of its own.
fn insert(object: &mut Map<String, Value>, members: &mut dyn Iterator<Item = (&str, Value)>) {
    for (name, value) in members.filter(|(_, value)| !value.is_null()) {
        object.insert(name.to_owned(), value);
    }
}
