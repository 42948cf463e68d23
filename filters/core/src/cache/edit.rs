//! Changes of a header map, for whoever can make them.

/// A change of a header map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Every line of this header goes.
    Remove(Vec<u8>),
    /// This header has one line, with this value.
    Set(Vec<u8>, Vec<u8>),
    /// A line more.
    Add(Vec<u8>, Vec<u8>),
}

impl Edit {
    pub(super) fn remove(name: impl AsRef<[u8]>) -> Self {
        Self::Remove(name.as_ref().to_vec())
    }

    pub(super) fn set(name: impl AsRef<[u8]>, value: impl Into<Vec<u8>>) -> Self {
        Self::Set(name.as_ref().to_vec(), value.into())
    }

    pub(super) fn add(name: impl AsRef<[u8]>, value: impl Into<Vec<u8>>) -> Self {
        Self::Add(name.as_ref().to_vec(), value.into())
    }
}
