//! What was mounted when, so that it can be mounted again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::module::Identity;
use super::{Mount, Slot};
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
    /// What each resource file mounted.
    pub(crate) mounts: BTreeMap<String, Mount>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rolled_back: Option<String>,
}

impl Entry {
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

    /// What is mounted in a slot now, as far as this knows.
    pub(super) fn current(&self, slot: Slot) -> Option<&Entry> {
        self.standing(slot).next()
    }

    /// What was not taken back, the latest first.
    fn standing(&self, slot: Slot) -> impl Iterator<Item = &Entry> {
        let entries = self.slots.get(&slot).into_iter().flatten();
        entries.rev().filter(|entry| entry.rolled_back.is_none())
    }

    /// What was mounted before, if `mounts` is what is found there now. Where somebody else changed the files since, that is what
    /// was last shipped.
    pub(super) fn before(&self, slot: Slot, mounts: &BTreeMap<String, Mount>) -> Option<&Entry> {
        let mut standing = self.standing(slot);
        let last = standing.next()?;
        if last.is(slot, mounts) {
            standing.next()
        } else {
            Some(last)
        }
    }

    /// Adds what is mounted now, after what was `found` there, if that was not known.
    pub(super) fn push(
        &mut self,
        slot: Slot,
        found: BTreeMap<String, Mount>,
        was: Option<Identity>,
        entry: Entry,
    ) {
        let known = self.current(slot).is_some_and(|e| e.is(slot, &found));
        // A gate that mounts nothing protects nobody: there is no way back to that.
        let none = slot == Slot::Gate && found.values().all(|mount| *mount == Mount::Nothing);
        let entries = self.slots.entry(slot).or_default();
        if !known && !none {
            entries.push(Entry {
                at: entry.at.clone(),
                module: was,
                mounts: found,
                rolled_back: None,
            });
        }
        entries.push(entry);
        let extra = entries.len().saturating_sub(KEPT);
        entries.drain(..extra);
    }

    /// Marks what is mounted as taken back, if it is what was `found` there.
    pub(super) fn pop(&mut self, slot: Slot, found: &BTreeMap<String, Mount>) {
        let last = self.slots.get_mut(&slot).and_then(|entries| {
            let mut standing = entries.iter_mut().rev();
            standing.find(|entry| entry.rolled_back.is_none())
        });
        if let Some(last) = last
            && last.is(slot, found)
        {
            last.rolled_back = Some(now());
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.slots)?;
        policy_file::replace(&self.file, text.as_bytes())
    }
}

/// The time, to the millisecond.
pub(super) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
