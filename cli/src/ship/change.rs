//! A change of what a slot mounts: what it consists of. How it is made is in [`super::make`].

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use super::folder::Folder;
use super::history::Entry;
use super::module::{Identity, Module};
use super::settle::Runs;
use super::{Held, Mount, Slot};
use crate::packed::Digest;

/// A change.
#[derive(Debug)]
pub(crate) struct Change {
    /// Where.
    pub(crate) slot: Slot,
    /// What each resource file is to mount; those that are not named stay.
    pub(crate) mounts: BTreeMap<String, Mount>,
    /// What is mounted then; none for nothing, or what was not shipped by this tool.
    pub(crate) module: Option<Identity>,
    /// The digest of its file.
    pub(super) sha256: Option<Digest>,
    /// How it goes into the history.
    pub(crate) note: Note,
}

/// How a change goes into the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// As something new.
    Shipped,
    /// As something new, that leaves the candidate's slot empty.
    Promoted,
    /// As a return to this entry; without one, to nothing.
    RolledBack(Option<usize>),
    /// Not at all: a step on the way to something. Who makes it puts back what was there.
    Passing,
}

impl Change {
    /// What a module is mounted as in a slot.
    ///
    /// # Errors
    /// A resource file cannot be read, the module not be placed, or it does not take what it is told.
    pub(crate) fn mount(folder: &Folder, slot: Slot, module: &Module, held: &Held) -> Result<Self> {
        module.takes(held)?;
        let filename = folder.place(module)?;
        let mount = Mount::Module {
            filename,
            configuration: held.configuration(),
        };
        let mounts = folder.mounts(slot)?.into_iter().map(|(file, there)| {
            // Behind the cache nothing is needed for a policy that does not speak of caches.
            let needed = file == slot.gate().file || module.caches || there != Mount::Nothing;
            let next = if needed { mount.clone() } else { there };
            (file, next)
        });
        Ok(Self {
            slot,
            mounts: mounts.collect(),
            module: Some(module.identity.clone()),
            sha256: Some(module.sha256()),
            note: Note::Shipped,
        })
    }

    /// The same as a step on the way to something.
    pub(super) fn passing(mut self) -> Self {
        self.note = Note::Passing;
        self
    }

    /// The same, and an empty candidate's slot after it.
    pub(super) fn promoting(mut self) -> Self {
        self.mounts.extend(nothing(Slot::Candidate));
        self.note = Note::Promoted;
        self
    }

    /// Whether nothing is mounted then.
    pub(crate) fn is_empty(&self) -> bool {
        self.mounts.values().all(|mount| *mount == Mount::Nothing)
    }

    /// A return to what a slot mounted before. In the candidate's slot that is nothing, or something that touches nobody: what was
    /// enforced there was a step on the way to something.
    ///
    /// # Errors
    /// Nothing was mounted before, or its module is gone or damaged.
    pub(crate) fn back(folder: &Folder, slot: Slot) -> Result<Self> {
        let found = folder.mounts(slot)?;
        let history = folder.history()?;
        let fits =
            |entry: &Entry| slot == Slot::Gate || enforces_nothing(folder, slot, &entry.mounts);
        let to = history.before(slot, &found, fits);
        let entry = match to.and_then(|number| history.entry(slot, number)) {
            Some(entry) => entry.clone(),
            None => {
                let something = found.values().any(|mount| *mount != Mount::Nothing);
                ensure!(
                    slot == Slot::Candidate && something,
                    "nothing is known to have been mounted in slot `{slot}` before what is there now"
                );
                Entry::new(nothing(slot))
            }
        };
        intact(folder, &entry)?;
        let mut mounts = entry.mounts;
        // What stands behind a cache stays there, as the gate has it: a request may be under way that the gate marked.
        if let Some(gate) = mounts.get(slot.gate().file).cloned() {
            for (file, mount) in &mut mounts {
                let there = found
                    .get(file)
                    .is_some_and(|there| *there != Mount::Nothing);
                if *mount == Mount::Nothing && there && *file != slot.gate().file {
                    mount.clone_from(&gate);
                }
            }
        }
        Ok(Self {
            slot,
            mounts,
            module: entry.module,
            sha256: entry.sha256,
            note: Note::RolledBack(to),
        })
    }
}

/// Checks that what an entry mounted is what it was, byte for byte.
fn intact(folder: &Folder, entry: &Entry) -> Result<()> {
    let Some(identity) = &entry.module else {
        return Ok(());
    };
    for mount in entry.mounts.values() {
        let Mount::Module { filename, .. } = mount else {
            continue;
        };
        let there = Module::open(&folder.local(filename))
            .with_context(|| format!("{identity} cannot be mounted again"))?;
        let same = entry.sha256.is_none_or(|digest| digest == there.sha256());
        ensure!(
            there.identity == *identity && same,
            "{identity} cannot be mounted again: `{filename}` is not the file that was mounted before"
        );
    }
    Ok(())
}

/// An empty slot.
pub(super) fn nothing(slot: Slot) -> BTreeMap<String, Mount> {
    BTreeMap::from([(slot.gate().file.to_owned(), Mount::Nothing)])
}

/// Whether what is mounted in a slot is enforced for nobody, as far as that can be told.
pub(super) fn enforces_nothing(
    folder: &Folder,
    slot: Slot,
    mounts: &BTreeMap<String, Mount>,
) -> bool {
    match mounts.get(slot.gate().file) {
        None | Some(Mount::Nothing) => true,
        Some(Mount::Module { .. }) => {
            runs(folder, slot, mounts).is_some_and(|(runs, _)| runs.enforced == 0)
        }
    }
}

/// What the gate of a slot runs, and the digest of its file, if it is a packed module.
pub(super) fn runs(
    folder: &Folder,
    slot: Slot,
    mounts: &BTreeMap<String, Mount>,
) -> Option<(Runs, Digest)> {
    let Mount::Module {
        filename,
        configuration,
    } = mounts.get(slot.gate().file)?
    else {
        return None;
    };
    let module = Module::open(&folder.local(filename)).ok()?;
    let held = Held::of(configuration.as_ref())?;
    let runs = Runs {
        enforced: module.enforced(&held),
        module: module.identity.clone(),
    };
    Some((runs, module.sha256()))
}
