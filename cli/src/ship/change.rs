//! A change of what a slot mounts: all of its resource files, or none.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use super::folder::Folder;
use super::history::{Entry, now};
use super::module::{Identity, Module};
use super::settle::{Before, Expected, Runs, Settled, Settling};
use super::slot::Place;
use super::{Admin, Held, Mount, Slot};
use crate::policy_file;

/// A change.
#[derive(Debug)]
pub(crate) struct Change {
    /// Where.
    pub(crate) slot: Slot,
    /// What each resource file is to mount; those that are not named stay.
    pub(crate) mounts: BTreeMap<String, Mount>,
    /// What is mounted then; none for nothing, or what was not shipped by this tool.
    pub(crate) module: Option<Identity>,
    /// How it goes into the history.
    pub(crate) note: Note,
}

/// How a change goes into the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// As something new.
    Shipped,
    /// As a return to what was there before.
    RolledBack,
    /// Not at all: a step on the way to something.
    Passing,
}

/// Who is asked what became of it, and how long that may take.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Envoy.
    pub(crate) admin: Admin,
    /// How long.
    pub(crate) limit: Duration,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Done {
    /// The files are written, and nobody was asked.
    Written,
    /// Every worker runs it: so many VMs, if what is mounted tells.
    Everywhere(Option<u64>),
    /// The files are written, and not every worker told that it runs it: why.
    Unconfirmed(String),
    /// What was there is there again: why.
    Undone(String),
}

/// A resource file, before and after.
struct Rewrite {
    place: Place,
    counters: String,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl Change {
    /// What a module is mounted as in a slot.
    ///
    /// # Errors
    /// A resource file cannot be read, or the module not be placed.
    pub(crate) fn mount(folder: &Folder, slot: Slot, module: &Module, held: &Held) -> Result<Self> {
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
            note: Note::Shipped,
        })
    }

    /// Empties a slot.
    pub(crate) fn empty(slot: Slot) -> Self {
        let gate = slot.gate().file.to_owned();
        Self {
            slot,
            mounts: BTreeMap::from([(gate, Mount::Nothing)]),
            module: None,
            note: Note::Passing,
        }
    }

    /// Whether nothing is mounted then.
    pub(crate) fn is_empty(&self) -> bool {
        self.mounts.values().all(|mount| *mount == Mount::Nothing)
    }

    /// A return to what a slot mounted before.
    ///
    /// # Errors
    /// Nothing was mounted before, or its module is gone or damaged.
    pub(crate) fn back(folder: &Folder, slot: Slot) -> Result<Self> {
        let found = folder.mounts(slot)?;
        let history = folder.history()?;
        let before = history.before(slot, &found);
        let (mut mounts, module) = match before {
            Some(entry) => (entry.mounts.clone(), entry.module.clone()),
            None if slot == Slot::Candidate && found.values().any(|m| *m != Mount::Nothing) => {
                (Self::empty(slot).mounts, None)
            }
            None => {
                return Err(anyhow!(
                    "nothing is known to have been mounted in slot `{slot}` before what is there now"
                ));
            }
        };
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
        if let Some(identity) = &module {
            for mount in mounts.values() {
                let Mount::Module { filename, .. } = mount else {
                    continue;
                };
                let there = Module::open(&folder.local(filename))
                    .with_context(|| format!("{identity} cannot be mounted again"))?;
                if there.identity != *identity {
                    return Err(anyhow!(
                        "`{filename}` is not {identity} any more, which was mounted before"
                    ));
                }
            }
        }
        Ok(Self {
            slot,
            mounts,
            module,
            note: Note::RolledBack,
        })
    }

    /// Makes the change, waits for it if somebody is there to ask, and puts everything back if it fails.
    ///
    /// # Errors
    /// It could not be made; what was there is there again.
    pub(crate) fn make(&self, folder: &Folder, watch: Option<&Watch>) -> Result<Done> {
        self.make_while(folder, watch, || None)
    }

    /// As [`Change::make`]; what was there is put back too as soon as `meanwhile` has a reason to.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn make_while(
        &self,
        folder: &Folder,
        watch: Option<&Watch>,
        meanwhile: impl FnMut() -> Option<String>,
    ) -> Result<Done> {
        let found = folder.mounts(self.slot)?;
        let version = match &self.module {
            Some(module) => format!("{} {module}", now()),
            None => now(),
        };
        let rewrites = self.rewrites(folder, &version)?;
        let before = watch
            .map(|watch| {
                let before = Before::ask(&watch.admin, watch.limit)?;
                for rewrite in &rewrites {
                    before.discovers(&rewrite.counters)?;
                }
                Ok::<_, anyhow::Error>(before)
            })
            .transpose()?;
        let ran = runs(folder, self.slot, &found);
        let settling = Settling {
            resources: rewrites
                .iter()
                .map(|rewrite| Expected {
                    counters: rewrite.counters.clone(),
                    version: version.clone(),
                })
                .collect(),
            runs: runs(folder, self.slot, &self.mounts),
            ran: self.silent(ran.as_ref()),
        };
        let mut history = folder.history()?;
        let done = match write(folder, &rewrites, &settling, before.as_ref(), meanwhile) {
            Err(error) => {
                restore(folder, &rewrites)?;
                return Err(error);
            }
            // Who goes back is not sent forward again because somebody is slow to say that he went.
            Ok(Some(Settled::Late(why))) if self.note == Note::RolledBack => Done::Unconfirmed(why),
            Ok(Some(Settled::Late(why) | Settled::Refused(why))) => {
                restore(folder, &rewrites)?;
                return Ok(Done::Undone(why));
            }
            Ok(Some(Settled::Everywhere(all))) => Done::Everywhere(all),
            Ok(None) => Done::Written,
        };
        match self.note {
            Note::Shipped => {
                let entry = Entry {
                    at: now(),
                    module: self.module.clone(),
                    mounts: folder.mounts(self.slot)?,
                    rolled_back: None,
                };
                history.push(self.slot, found, ran.map(|ran| ran.module), entry);
                history.write()?;
            }
            Note::RolledBack => {
                history.pop(self.slot, &found);
                history.write()?;
            }
            Note::Passing => {}
        }
        Ok(done)
    }

    fn rewrites(&self, folder: &Folder, version: &str) -> Result<Vec<Rewrite>> {
        let policy = self.module.as_ref().map_or("", |module| &module.policy);
        let mut rewrites = Vec::new();
        for place in self.slot.places() {
            let Some(mount) = self.mounts.get(place.file) else {
                continue;
            };
            let there = folder.resource(*place)?;
            if *place != self.slot.gate() && there.mount() == *mount {
                continue;
            }
            let fresh = folder.fresh(*place, policy)?;
            rewrites.push(Rewrite {
                place: *place,
                counters: format!("{}{}", place.counters, there.name(*place)),
                before: folder.bytes(*place)?,
                after: there.with(mount, || fresh, version).to_bytes(),
            });
        }
        Ok(rewrites)
    }

    /// What no worker may run any more, of what ran; it tells so itself as long as something of the same policy follows it.
    fn silent(&self, ran: Option<&Runs>) -> Option<Runs> {
        let next = self.module.as_ref()?;
        ran.filter(|ran| ran.module.policy == next.policy).cloned()
    }
}

/// What the gate of a slot runs, if it is a packed module.
fn runs(folder: &Folder, slot: Slot, mounts: &BTreeMap<String, Mount>) -> Option<Runs> {
    let Mount::Module {
        filename,
        configuration,
    } = mounts.get(slot.gate().file)?
    else {
        return None;
    };
    let module = Module::open(&folder.local(filename)).ok()?;
    let held = Held::of(configuration.as_ref())?;
    Some(Runs {
        enforced: module.enforced(&held),
        module: module.identity,
    })
}

/// Writes one file after the other, each when Envoy has taken the one before, and waits for all of it where Envoy is asked.
fn write(
    folder: &Folder,
    rewrites: &[Rewrite],
    settling: &Settling,
    before: Option<&Before>,
    mut meanwhile: impl FnMut() -> Option<String>,
) -> Result<Option<Settled>> {
    let mut earlier = Settling::default();
    for (Rewrite { place, after, .. }, resource) in rewrites.iter().zip(&settling.resources) {
        if let Some(before) = before
            && let Settled::Late(why) | Settled::Refused(why) =
                before.settle(&earlier, &mut meanwhile)
        {
            return Ok(Some(Settled::Refused(why)));
        }
        policy_file::replace(&folder.at(place.file), after)?;
        earlier.resources.push(resource.clone());
    }
    Ok(before.map(|before| before.settle(settling, meanwhile)))
}

/// Puts back what was there, in the other order.
fn restore(folder: &Folder, rewrites: &[Rewrite]) -> Result<()> {
    for Rewrite { place, before, .. } in rewrites.iter().rev() {
        let file = folder.at(place.file);
        match before {
            Some(bytes) => policy_file::replace(&file, bytes)?,
            None if file.exists() => fs::remove_file(&file)
                .with_context(|| format!("`{}` cannot be removed", file.display()))?,
            None => {}
        }
    }
    Ok(())
}
