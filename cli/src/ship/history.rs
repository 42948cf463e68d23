//! What was mounted when, so that it can be mounted again.
//!
//! It is written before the files that it tells of, and says of its last entry that it was begun, until that is through: whoever
//! is killed in between leaves no folder in which the way back leads forward.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::file::{self, Prepared};
use super::module::Identity;
use super::{Mount, Slot};
use crate::packed::Digest;
use crate::policy_file;

/// How many entries a slot keeps; the oldest go.
const KEPT: usize = 32;

/// The file.
#[derive(Debug)]
pub(super) struct History {
    file: PathBuf,
    slots: BTreeMap<Slot, Vec<Entry>>,
}

/// What was mounted in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Since when.
    pub(crate) at: String,
    /// What it was; none for what was not shipped by this tool.
    pub(crate) module: Option<Identity>,
    /// The digest of the module's file, engine included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<Digest>,
    /// What each resource file mounted.
    pub(crate) mounts: BTreeMap<String, Mount>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rolled_back: Option<String>,
    /// What was begun to mount it, and not seen through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<Begun>,
}

/// Something that nobody saw the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Begun {
    /// It was shipped.
    Ship,
    /// It was rolled back to.
    Rollback,
}

impl Entry {
    /// What is mounted from now on, by nobody in particular.
    pub(super) fn new(mounts: BTreeMap<String, Mount>) -> Self {
        Self {
            at: now(),
            module: None,
            sha256: None,
            mounts,
            rolled_back: None,
            begun: None,
        }
    }

    /// Whether nothing is mounted.
    fn is_empty(&self) -> bool {
        self.mounts.values().all(|mount| *mount == Mount::Nothing)
    }

    /// Whether it is what is mounted: what stands behind a cache follows by rules of its own.
    fn is(&self, slot: Slot, found: &BTreeMap<String, Mount>) -> bool {
        let gate = slot.gate().file;
        self.mounts.get(gate) == found.get(gate)
    }
}

impl History {
    const NAME: &str = "history.json";

    /// Reads the history of a folder; there need not be one.
    ///
    /// # Errors
    /// It is not a history.
    pub(super) fn read(folder: &std::path::Path) -> Result<Self> {
        let file = folder.join(Self::NAME);
        let slots = if file.exists() {
            let bytes = policy_file::read(&file)?;
            serde_json::from_slice(&bytes)
                .with_context(|| format!("`{}` is not a history", file.display()))?
        } else {
            BTreeMap::new()
        };
        Ok(Self { file, slots })
    }

    /// What was not taken back, the latest first, and where it stands.
    fn standing(&self, slot: Slot) -> impl Iterator<Item = (usize, &Entry)> {
        let entries = self.slots.get(&slot).map_or(&[][..], Vec::as_slice);
        let entries = entries.iter().enumerate().rev();
        entries.filter(|(_, entry)| entry.rolled_back.is_none())
    }

    /// An entry.
    pub(super) fn entry(&self, slot: Slot, number: usize) -> Option<&Entry> {
        self.slots.get(&slot)?.get(number)
    }

    /// Which entry there is a way back to, of those that `fit`, if `found` is what is there now.
    ///
    /// Where somebody else changed the files since, that is what was last mounted. So it is where a rollback was begun and nobody saw
    /// its end: done again, it goes where it went.
    pub(super) fn before(
        &self,
        slot: Slot,
        found: &BTreeMap<String, Mount>,
        fits: impl Fn(&Entry) -> bool,
    ) -> Option<usize> {
        let standing: Vec<_> = self.standing(slot).collect();
        let (_, last) = standing.first()?;
        let gone = match last.begun {
            Some(Begun::Rollback) => 0,
            // Its files were written or not: the way back leads before it.
            Some(Begun::Ship) => 1,
            None => {
                let there = standing.iter().position(|(_, entry)| entry.is(slot, found));
                there.map_or(0, |there| {
                    // What was shipped twice stands here twice.
                    let same = standing.iter().skip(there);
                    let same = same.take_while(|(_, entry)| entry.is(slot, found));
                    there.saturating_add(same.count())
                })
            }
        };
        let mut before = standing.into_iter().skip(gone);
        before
            .find(|(_, entry)| fits(entry))
            .map(|(number, _)| number)
    }

    /// Adds what is about to be mounted, after what was `found` there, if that was not known.
    pub(super) fn begin(&mut self, slot: Slot, found: Entry, next: Entry) {
        // What was begun and is not there never was.
        self.mark(slot, |entry| {
            entry.begun == Some(Begun::Ship) && !entry.is(slot, &found.mounts)
        });
        let last = self.standing(slot).next();
        let known = last.is_some_and(|(_, last)| last.is(slot, &found.mounts));
        // A gate that mounts nothing protects nobody: there is no way back to that.
        let none = slot == Slot::Gate && found.is_empty();
        let entries = self.slots.entry(slot).or_default();
        if !known && !none {
            entries.push(found);
        }
        entries.push(Entry {
            begun: Some(Begun::Ship),
            ..next
        });
        let extra = entries.len().saturating_sub(KEPT);
        entries.drain(..extra);
    }

    /// Adds that a slot is emptied, if it was not empty as far as this knows.
    pub(super) fn empty(&mut self, slot: Slot, mounts: BTreeMap<String, Mount>) {
        let last = self.standing(slot).next();
        if last.is_some_and(|(_, last)| !last.is_empty()) {
            let entries = self.slots.entry(slot).or_default();
            entries.push(Entry::new(mounts));
        }
    }

    /// Marks what came after an entry as taken back; without one, everything.
    pub(super) fn go_back(&mut self, slot: Slot, to: Option<usize>) {
        let entries = self.slots.entry(slot).or_default();
        let after = to.map_or(0, |to| to.saturating_add(1));
        for entry in entries.iter_mut().skip(after) {
            entry.rolled_back.get_or_insert_with(now);
        }
        if let Some(entry) = to.and_then(|to| entries.get_mut(to)) {
            entry.begun = Some(Begun::Rollback);
        }
    }

    /// What was begun is through.
    pub(super) fn end(&mut self, slot: Slot) {
        for entry in self.slots.entry(slot).or_default() {
            entry.begun = None;
        }
    }

    fn mark(&mut self, slot: Slot, taken_back: impl Fn(&Entry) -> bool) {
        for entry in self.slots.entry(slot).or_default() {
            if entry.rolled_back.is_none() && taken_back(entry) {
                entry.rolled_back = Some(now());
            }
        }
    }

    /// What is written now, to be put back.
    ///
    /// # Errors
    /// It cannot be read, or not be written a second time.
    pub(super) fn as_found(&self) -> Result<Prepared> {
        Prepared::as_found(&self.file)
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.slots)?;
        file::replace(&self.file, text.as_bytes())
    }
}

/// The time, to the millisecond.
pub(super) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
