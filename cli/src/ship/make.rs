//! Making a change: all of its resource files, or none.
//!
//! Every byte of it, and of the way back, is on the disk before the first file is changed; then there are only renames.

use std::time::Duration;

use anyhow::{Result, anyhow};

use super::Admin;
use super::change::{Change, Note, runs};
use super::file::Prepared;
use super::folder::Folder;
use super::history::{Entry, now};
use super::settle::{Before, Expected, Settled, Settling};
use super::slot::{Place, Slot};

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
    expected: Expected,
    after: Prepared,
    /// None where who makes the change goes back by himself.
    back: Option<Prepared>,
}

/// A change that is being made.
struct Making<'a> {
    folder: &'a Folder,
    change: &'a Change,
    rewrites: Vec<Rewrite>,
    settling: Settling,
    before: Option<Before>,
    /// The history as it was.
    history: Option<Prepared>,
}

impl Change {
    /// Makes the change, waits for it if somebody is there to ask, and puts everything back if it fails.
    ///
    /// # Errors
    /// It could not be begun; or it could not be put back, and then the message says so.
    pub(crate) fn make(&self, folder: &Folder, watch: Option<&Watch>) -> Result<Done> {
        self.make_while(folder, watch, || None)
    }

    /// As [`Change::make`]; it fails as soon as `meanwhile` has a reason.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn make_while(
        &self,
        folder: &Folder,
        watch: Option<&Watch>,
        mut meanwhile: impl FnMut() -> Option<String>,
    ) -> Result<Done> {
        let mut making = Making::prepare(self, folder, watch)?;
        making.begin()?;
        let settled = match making.write(&mut meanwhile) {
            Ok(None) => making.settle(meanwhile),
            Ok(early) => early,
            Err(error) => Some(Settled::Refused(format!("{error:#}"))),
        };
        making.end(settled)
    }

    /// What is written for it: one file of the candidate's slot.
    ///
    /// # Errors
    /// It could not be prepared; nothing is changed.
    pub(super) fn make_passing(
        &self,
        folder: &Folder,
        watch: &Watch,
        write: impl FnOnce(&mut Prepared) -> Result<()>,
        meanwhile: impl FnMut() -> Option<String>,
    ) -> Result<Done> {
        let mut making = Making::prepare(self, folder, Some(watch))?;
        if let Some(rewrite) = making.rewrites.first_mut() {
            write(&mut rewrite.after)?;
        }
        let settled = making.settle(meanwhile);
        making.end(settled)
    }

    /// Where files are rewritten, in the order in which they are.
    fn places(&self) -> impl Iterator<Item = Place> {
        let emptied = (self.note == Note::Promoted).then(|| Slot::Candidate.places());
        let places = self.slot.places().iter();
        places.chain(emptied.into_iter().flatten()).copied()
    }
}

impl<'a> Making<'a> {
    /// Writes all bytes beside the files, and asks Envoy how it stands.
    fn prepare(change: &'a Change, folder: &'a Folder, watch: Option<&Watch>) -> Result<Self> {
        let version = match &change.module {
            Some(module) => format!("{} {module}", now()),
            None => now(),
        };
        let policy = change.module.as_ref().map_or("", |module| &module.policy);
        let mut rewrites = Vec::new();
        for place in change.places() {
            let Some(mount) = change.mounts.get(place.file) else {
                continue;
            };
            let there = folder.resource(place)?;
            if place != place.slot().gate() && there.mount() == *mount {
                continue;
            }
            let fresh = folder.fresh(place, policy)?;
            let next = there.with(mount, || fresh, &version);
            let file = folder.at(place.file);
            // The candidate of a canary that is not promoted is no way back.
            let back = change.note != Note::Passing && place.slot() == change.slot;
            rewrites.push(Rewrite {
                expected: Expected {
                    counters: format!("{}{}", place.counters, there.name(place)),
                    version: version.clone(),
                },
                after: Prepared::new(&file, &next.to_bytes())?,
                back: back.then(|| Prepared::as_found(&file)).transpose()?,
            });
        }
        let before = watch
            .map(|watch| {
                let before = Before::ask(&watch.admin, watch.limit)?;
                for rewrite in &rewrites {
                    before.discovers(&rewrite.expected.counters)?;
                }
                Ok::<_, anyhow::Error>(before)
            })
            .transpose()?;
        let found = folder.mounts(change.slot)?;
        let ran = runs(folder, change.slot, &found).map(|(runs, _)| runs);
        // It tells that nobody runs it any more as long as something of the same policy follows it.
        let next = change.module.as_ref();
        let ran = ran.filter(|ran| next.is_some_and(|next| next.policy == ran.module.policy));
        let settling = Settling {
            resources: rewrites.iter().map(|r| r.expected.clone()).collect(),
            runs: runs(folder, change.slot, &change.mounts).map(|(runs, _)| runs),
            ran,
        };
        Ok(Self {
            folder,
            change,
            rewrites,
            settling,
            before,
            history: None,
        })
    }

    /// Says in the history what is begun.
    fn begin(&mut self) -> Result<()> {
        let (slot, change) = (self.change.slot, self.change);
        let mut history = self.folder.history()?;
        let as_found = history.as_found()?;
        match change.note {
            Note::Passing => return Ok(()),
            Note::RolledBack(to) => history.go_back(slot, to),
            Note::Shipped | Note::Promoted => {
                let found = self.folder.mounts(slot)?;
                let was = runs(self.folder, slot, &found);
                let mut mounts = found.clone();
                for (file, mount) in &mut mounts {
                    if let Some(next) = change.mounts.get(file) {
                        mount.clone_from(next);
                    }
                }
                let found = Entry {
                    sha256: was.as_ref().map(|(_, sha256)| *sha256),
                    module: was.map(|(runs, _)| runs.module),
                    ..Entry::new(found)
                };
                let next = Entry {
                    module: change.module.clone(),
                    sha256: change.sha256,
                    ..Entry::new(mounts)
                };
                history.begin(slot, found, next);
            }
        }
        history.write()?;
        self.history = Some(as_found);
        Ok(())
    }

    /// Writes one file after the other, each when Envoy has taken the one before; why it ended early, if it did.
    fn write(&mut self, mut meanwhile: impl FnMut() -> Option<String>) -> Result<Option<Settled>> {
        let mut earlier = Settling::default();
        let mut late = None;
        for rewrite in &mut self.rewrites {
            if let Some(before) = &self.before
                && late.is_none()
            {
                match before.settle(&earlier, &mut meanwhile) {
                    Settled::Everywhere(_) => {}
                    // Who goes back is not sent forward again because somebody is slow to say that he went.
                    Settled::Late(why) if self.change.goes_back() => late = Some(why),
                    early => return Ok(Some(early)),
                }
            }
            rewrite.after.put()?;
            earlier.resources.push(rewrite.expected.clone());
        }
        Ok(late.map(Settled::Late))
    }

    /// Waits for all of it, where Envoy is asked.
    fn settle(&self, meanwhile: impl FnMut() -> Option<String>) -> Option<Settled> {
        let before = self.before.as_ref()?;
        Some(before.settle(&self.settling, meanwhile))
    }

    /// Says in the history that it is through, or puts back what was there.
    fn end(mut self, settled: Option<Settled>) -> Result<Done> {
        let done = match settled {
            Some(Settled::Late(why)) if self.change.goes_back() => {
                return Ok(Done::Unconfirmed(why));
            }
            Some(Settled::Late(why) | Settled::Refused(why)) => {
                self.undo().map_err(|error| {
                    anyhow!("{why}; and what was there could not be put back: {error:#}")
                })?;
                return Ok(Done::Undone(why));
            }
            Some(Settled::Everywhere(all)) => Done::Everywhere(all),
            None => Done::Written,
        };
        if self.change.note != Note::Passing {
            // Where this cannot be written, the way back is the right one all the same: it was written with the beginning.
            let _ = self.is_through();
        }
        Ok(done)
    }

    fn is_through(&self) -> Result<()> {
        let mut history = self.folder.history()?;
        history.end(self.change.slot);
        if self.change.note == Note::Promoted {
            history.empty(Slot::Candidate, super::change::nothing(Slot::Candidate));
        }
        history.write()
    }

    /// Puts back what was there, in the other order, as far as it goes.
    fn undo(&mut self) -> Result<()> {
        let files = self.rewrites.iter_mut().rev();
        let files = files.filter_map(|rewrite| rewrite.back.as_mut());
        let done: Vec<_> = files
            .chain(self.history.as_mut())
            .map(Prepared::put)
            .collect();
        done.into_iter().collect()
    }
}

impl Change {
    /// Whether it returns to what was there before.
    const fn goes_back(&self) -> bool {
        matches!(self.note, Note::RolledBack(_))
    }
}
