//! Where in a document something stands.

use std::fmt;

use deserr::ValuePointerRef;

/// A place in a document, outermost step first; written like `$.routes[2].match.path`.
#[cfg_attr(
    not(feature = "cases"),
    allow(unreachable_pub, reason = "only tools see it")
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(pub Vec<Step>);

/// One step of a [`Pointer`].
#[cfg_attr(
    not(feature = "cases"),
    allow(unreachable_pub, reason = "only tools see it")
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the member of an object.
    Key(String),
    /// To the item of a list, counted from 0.
    Index(usize),
}

impl From<ValuePointerRef<'_>> for Pointer {
    fn from(pointer: ValuePointerRef<'_>) -> Self {
        let mut steps = Vec::new();
        let mut here = &pointer;
        loop {
            here = match here {
                ValuePointerRef::Origin => break,
                ValuePointerRef::Key { key, prev } => {
                    steps.push(Step::Key((*key).to_owned()));
                    prev
                }
                ValuePointerRef::Index { index, prev } => {
                    steps.push(Step::Index(*index));
                    prev
                }
            };
        }
        steps.reverse();
        Self(steps)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if !key.is_empty() && key.bytes().all(plain) => {
                    write!(f, ".{key}")?;
                }
                Step::Key(key) => write!(f, "[\"{}\"]", key.escape_debug())?,
            }
        }
        Ok(())
    }
}
