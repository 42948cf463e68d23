//! The resource files while a canary is under way: whoever else changes one ends it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use crate::ship::Folder;
use crate::ship::Slot;
use crate::ship::slot::Place;

/// What the files held when they were looked at, or when we wrote them.
pub(super) struct Files<'a> {
    folder: &'a Folder,
    seen: RefCell<BTreeMap<&'static str, Option<Vec<u8>>>>,
}

impl<'a> Files<'a> {
    /// Looks at all of them.
    ///
    /// # Errors
    /// One cannot be read.
    pub(super) fn see(folder: &'a Folder) -> Result<Self> {
        let files = Self {
            folder,
            seen: RefCell::default(),
        };
        for place in places() {
            files.note(place)?;
        }
        Ok(files)
    }

    /// Takes what a file holds now for ours.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn note(&self, place: Place) -> Result<()> {
        let bytes = self.folder.bytes(place)?;
        self.seen.borrow_mut().insert(place.file, bytes);
        Ok(())
    }

    /// Whether somebody else changed a file of a slot.
    pub(super) fn are_theirs(&self, slot: Slot) -> bool {
        slot.places().iter().any(|place| self.is_theirs(*place))
    }

    /// What somebody else changed, in words.
    pub(super) fn theirs(&self) -> Option<String> {
        let theirs = places().find(|place| self.is_theirs(*place))?;
        Some(format!("somebody else changed `{}` meanwhile", theirs.file))
    }

    /// Checks that nobody else changed any.
    ///
    /// # Errors
    /// Somebody did.
    pub(super) fn are_ours(&self) -> Result<()> {
        let theirs = self.theirs();
        ensure!(theirs.is_none(), "{}", theirs.unwrap_or_default());
        Ok(())
    }

    /// A file that cannot be read is nobody's change.
    fn is_theirs(&self, place: Place) -> bool {
        let there = self.folder.bytes(place);
        let seen = self.seen.borrow();
        there.is_ok_and(|there| seen.get(place.file) != Some(&there))
    }
}

fn places() -> impl Iterator<Item = Place> {
    let slots = [Slot::Gate, Slot::Candidate].into_iter();
    slots.flat_map(|slot| slot.places().iter().copied())
}
