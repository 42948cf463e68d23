//! A store of which every value may be anything.

use std::collections::BTreeMap;

use tidegate_core::key::Secret;
use tidegate_core::store::{Slot, Store, StoreError, Swap, Version};

/// A store that begins with the same bytes in every place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    first: Vec<u8>,
    written: BTreeMap<Slot, (Vec<u8>, u32)>,
}

impl Values {
    /// A store in which these bytes stand everywhere.
    pub(crate) const fn of(first: Vec<u8>) -> Self {
        Self {
            first,
            written: BTreeMap::new(),
        }
    }

    /// What was written, and where.
    pub(crate) fn written(&self) -> impl Iterator<Item = (Slot, &[u8])> {
        self.written
            .iter()
            .map(|(slot, (bytes, _))| (*slot, &bytes[..]))
    }
}

impl Store for Values {
    fn secret(&self) -> Secret {
        Secret::new(*b"tidegate in test")
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        let written = self.written.get(&slot).cloned();
        let (bytes, version) = written.unwrap_or_else(|| (self.first.clone(), 0));
        Ok((bytes, Version(version)))
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        let current = self.written.get(&slot).map_or(0, |(_, version)| *version);
        if Version(current) != version {
            return Ok(Swap::Lost);
        }
        self.written.insert(slot, (bytes.to_vec(), current + 1));
        Ok(Swap::Done)
    }
}
