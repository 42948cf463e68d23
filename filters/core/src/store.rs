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

/// The name of one value: a set of a limit's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The limit.
    pub limit: LimitId,
    /// The set: 0 to [`crate::table::sets`] - 1.
    pub set: u32,
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

    /// Writes a value if nobody has since it was read as `version`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError>;
}

/// Where the generations of cached copies live.
pub trait Generations {
    /// The generation of the cached copies that are kept at `place`; 0 until [`Generations::renew`] gives them one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn generation(&mut self, place: u32) -> Result<u64, StoreError>;

    /// Gives the copies at `place` another generation, `generation` or one that somebody else gave meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn renew(&mut self, place: u32, generation: u64) -> Result<(), StoreError>;
}

/// A store in this process's memory, for one thread. It grows to the size of the tables and no further.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// For each limit its sets, each with the number of its writing.
    tables: Vec<Vec<(Vec<u8>, Version)>>,
    /// The generations of cached copies that have one.
    generations: BTreeMap<u32, u64>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn value(&mut self, slot: Slot) -> Option<&mut (Vec<u8>, Version)> {
        let (limit, set) = (slot.limit.0, usize::try_from(slot.set).ok()?);
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

impl Store for MemoryStore {
    fn secret(&self) -> Secret {
        Secret::new(*b"tidegate in test")
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.value(slot).cloned().ok_or(StoreError::Unavailable)
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
}

impl Generations for MemoryStore {
    fn generation(&mut self, place: u32) -> Result<u64, StoreError> {
        Ok(self.generations.get(&place).copied().unwrap_or(0))
    }

    fn renew(&mut self, place: u32, generation: u64) -> Result<(), StoreError> {
        self.generations.insert(place, generation);
        Ok(())
    }
}
