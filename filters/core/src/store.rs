//! Where state lives. To the core a store is something that is read and swapped; what is written is
//! computed here, from the bytes that were read.
//!
//! [`MemoryStore`] is the store of tests and of the command line; the one that Envoy's workers share is in
//! the module.

use std::collections::BTreeMap;

use crate::key::Secret;
use crate::policy::LimitId;

/// How often a swap is tried before the store counts as contended.
pub const MAX_SWAPS: u32 = 8;

/// The name of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// A set of a limit's table, from 0 to [`crate::table::sets`] - 1.
    Buckets(LimitId, u32),
    /// The generation of the cached copies that are kept at this place.
    Generation(u32),
    /// A set of records, from 0 to [`crate::records::set::shape`]'s number - 1.
    Records(u32),
    /// The stored answer of the record with this number in a set.
    Answer(u32, u8),
    /// How many bytes of stored answers there are.
    Room,
    /// How far the sweeping of records has come.
    Sweep,
    /// A set of refused scopes, from 0 to [`crate::ledger::SETS`] - 1.
    Refused(u32),
    /// When somebody looked through the refused scopes last.
    RefusedTurn,
}

/// Which writing of a value was read; what a store hands out and takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version(pub u32);

/// What became of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// The new bytes stand there.
    Done,
    /// Somebody else wrote since the value was read; nothing was written.
    Lost,
}

/// The store did not do what it was asked; the policy's `store_error` says what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreError {
    /// It did not answer, or answered with an error.
    Unavailable,
    /// A value is not in the format that this version writes.
    Malformed,
    /// A swap was lost [`MAX_SWAPS`] times in a row.
    Contended,
}

/// A store that answers at once.
pub trait Store {
    /// The secret under which this store's keys are made.
    fn secret(&self) -> Secret;

    /// A time not before `now`, as late as the store can tell: whatever others wrote so far, they wrote before it.
    fn later(&mut self, now: u64) -> u64 {
        now
    }

    /// Reads a value; one that was never written is empty.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError>;

    /// Reads a value for somebody who only looks: where there is none, none is made.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn peek(&mut self, slot: Slot) -> Result<Vec<u8>, StoreError> {
        Ok(self.read(slot)?.0)
    }

    /// Writes a value if nobody has since it was read as `version`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError>;

    /// Shows a value to `look`; one that was never written is empty. What was seen can be written to with [`Self::edit`].
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn look<T>(
        &mut self,
        slot: Slot,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<(T, Seen), StoreError> {
        let (bytes, version) = self.read(slot)?;
        Ok((look(&bytes), Seen { version, bytes }))
    }

    /// Writes what `edit` makes of a value if nobody has written it since it was seen. An edit that fails changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], and that of the edit.
    fn edit(
        &mut self,
        slot: Slot,
        seen: &mut Seen,
        edit: impl FnOnce(&mut Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<Swap, StoreError> {
        edit(&mut seen.bytes)?;
        self.swap(slot, seen.version, &seen.bytes)
    }
}

/// A value that was looked at, as it was then.
#[derive(Debug, Default)]
pub struct Seen {
    version: Version,
    /// Empty where the store has the value at hand and needs no copy of it.
    bytes: Vec<u8>,
}

/// A store in this process's memory, for one thread. It grows to the size of the tables and no further.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    secret: Secret,
    /// For each limit its sets, each with the number of its writing.
    tables: Vec<Vec<(Vec<u8>, Version)>>,
    /// All other values.
    others: BTreeMap<Slot, (Vec<u8>, Version)>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::with(Secret::new(*b"tidegate in test"))
    }

    /// An empty store that makes its keys under `secret`.
    pub const fn with(secret: Secret) -> Self {
        Self {
            secret,
            tables: Vec::new(),
            others: BTreeMap::new(),
        }
    }

    fn value(&mut self, slot: Slot) -> Option<&mut (Vec<u8>, Version)> {
        let Slot::Buckets(LimitId(limit), set) = slot else {
            return Some(self.others.entry(slot).or_default());
        };
        let set = usize::try_from(set).ok()?;
        if self.tables.len() <= limit {
            self.tables.resize_with(limit.saturating_add(1), Vec::new);
        }
        let table = self.tables.get_mut(limit)?;
        if table.len() <= set {
            table.resize_with(set.saturating_add(1), Default::default);
        }
        table.get_mut(set)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn secret(&self) -> Secret {
        self.secret
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.value(slot).cloned().ok_or(StoreError::Unavailable)
    }

    fn peek(&mut self, slot: Slot) -> Result<Vec<u8>, StoreError> {
        let found = match slot {
            Slot::Buckets(LimitId(limit), set) => {
                let set = usize::try_from(set).map_err(|_| StoreError::Unavailable)?;
                self.tables.get(limit).and_then(|table| table.get(set))
            }
            other => self.others.get(&other),
        };
        Ok(found.map(|(bytes, _)| bytes.clone()).unwrap_or_default())
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        let (old, current) = self.value(slot).ok_or(StoreError::Unavailable)?;
        if *current != version {
            return Ok(Swap::Lost);
        }
        old.clear();
        old.extend_from_slice(bytes);
        *current = Version(version.0.wrapping_add(1));
        Ok(Swap::Done)
    }

    fn look<T>(
        &mut self,
        slot: Slot,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<(T, Seen), StoreError> {
        let (bytes, version) = self.value(slot).ok_or(StoreError::Unavailable)?;
        let seen = Seen {
            version: *version,
            bytes: Vec::new(),
        };
        Ok((look(bytes), seen))
    }

    fn edit(
        &mut self,
        slot: Slot,
        seen: &mut Seen,
        edit: impl FnOnce(&mut Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<Swap, StoreError> {
        let (bytes, current) = self.value(slot).ok_or(StoreError::Unavailable)?;
        if *current != seen.version {
            return Ok(Swap::Lost);
        }
        edit(bytes)?;
        *current = Version(seen.version.0.wrapping_add(1));
        Ok(Swap::Done)
    }
}
