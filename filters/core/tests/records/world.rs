//! The store that the workers of one exploration share: small, so that it can be compared, hashed and copied for every
//! state. Values are numbers into a table of all bytes that were ever written.

use std::collections::HashMap;

use tidegate_core::store::{Slot, Swap, Version};

/// How many values there are: the set, the room, and a few answers.
pub(crate) const SLOTS: usize = 2 + WAYS;

/// How many records the set holds at most.
pub(crate) const WAYS: usize = 3;

/// Which bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Value(u32);

/// All bytes that were written.
#[derive(Default)]
pub(crate) struct Values {
    bytes: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, Value>,
}

impl Values {
    pub(crate) fn new() -> Self {
        let mut values = Self::default();
        values.number(&[]);
        values
    }

    pub(crate) fn number(&mut self, bytes: &[u8]) -> Value {
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        let number = Value(u32::try_from(self.bytes.len()).unwrap());
        self.bytes.push(bytes.to_vec());
        self.numbers.insert(bytes.to_vec(), number);
        number
    }

    pub(crate) fn bytes(&self, value: Value) -> &[u8] {
        &self.bytes[value.0 as usize]
    }
}

/// How a store does its work. All but the first are wrong, and the exploration has to notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As promised.
    Right,
    /// Every swap succeeds, whatever was written meanwhile.
    IgnoresVersions,
    /// Whoever read a value before its first writing may write it.
    ManyFirstWritings,
    /// Answers lose their last byte.
    CutsAnswers,
    /// An answer is said to be written and is not.
    DropsAnswers,
}

/// What stands in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shared(pub(crate) [(Value, u32); SLOTS]);

impl Shared {
    pub(crate) fn new() -> Self {
        Self([(Value(0), 0); SLOTS])
    }

    /// What stands there, without the number of its writing.
    pub(crate) fn values(&self) -> [Value; SLOTS] {
        self.0.map(|(value, _)| value)
    }

    pub(crate) fn read(&self, slot: Slot) -> (Value, Version) {
        let (value, version) = self.0[index(slot)];
        (value, Version(version))
    }

    pub(crate) fn swap(
        &mut self,
        kind: Kind,
        slot: Slot,
        version: Version,
        value: Value,
        values: &mut Values,
    ) -> Swap {
        let (current, written) = &mut self.0[index(slot)];
        let allowed = match kind {
            Kind::IgnoresVersions => true,
            Kind::ManyFirstWritings => version.0 == 0 || version.0 == *written,
            Kind::Right | Kind::CutsAnswers | Kind::DropsAnswers => version.0 == *written,
        };
        if !allowed {
            return Swap::Lost;
        }
        let answer = matches!(slot, Slot::Answer(..)) && values.bytes(value).len() > 16;
        *written += 1;
        *current = match kind {
            Kind::CutsAnswers if answer => {
                let bytes = values.bytes(value).to_vec();
                values.number(&bytes[..bytes.len() - 1])
            }
            Kind::DropsAnswers if answer => *current,
            _ => value,
        };
        Swap::Done
    }
}

fn index(slot: Slot) -> usize {
    match slot {
        Slot::Records(0) => 0,
        Slot::Room => 1,
        Slot::Answer(0, place) if usize::from(place) < WAYS => 2 + usize::from(place),
        other => panic!("a value that nobody should ask for: {other:?}"),
    }
}
