//! The end of a canary that went well: the module moves into the gate.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::Result;

use super::Figures;
use super::stop::STOPPED;
use super::walk::{Ended, Halt, Left, Walk, promoted};
use crate::ship::{Change, Done, Slot};

impl Walk<'_> {
    /// Mounts the module in the gate and empties the candidate's slot, or puts both back. What bounds a share bounds this too.
    pub(super) fn promote(&self, last: u8) -> Ended {
        if self.stop.is_wished() {
            return self.halted(last, Halt::Other(STOPPED.to_owned()), Left::Untouched);
        }
        let halt = RefCell::new(None);
        let tried = Cell::new(false);
        let done = self.move_into_gate(&halt, &tried);
        let why = match done {
            Ok(Done::Everywhere(vms)) => {
                self.begun.set(false);
                return Ended::Promoted { vms };
            }
            Ok(Done::Written) => "nobody told what became of it".to_owned(),
            Ok(Done::Undone(why) | Done::Unconfirmed(why)) => why,
            Err(error) => format!("{error:#}"),
        };
        let gate = if !tried.get() {
            Left::Untouched
        } else if self.files.are_theirs(Slot::Gate) {
            Left::Astray
        } else {
            Left::PutBack
        };
        if tried.get() {
            // It was we who emptied the candidate's slot.
            let _ = self.files.note(Slot::Candidate.gate());
        }
        let halt = match halt.into_inner() {
            Some(Halt::Bound(broken)) => Halt::Bound(broken),
            _ => Halt::Other(format!("not promoted: {why}")),
        };
        self.halted(last, halt, gate)
    }

    fn move_into_gate(&self, halt: &RefCell<Option<Halt>>, tried: &Cell<bool>) -> Result<Done> {
        let _lock = self.folder.lock(Duration::ZERO)?;
        self.files.are_ours()?;
        let held = promoted(self.module);
        let change = Change::mount(self.folder, Slot::Gate, self.module, &held)?.promoting();
        let since = self.looks.look()?.unwrap_or_default();
        let mut figures = Figures::default();
        tried.set(true);
        change.make_while(self.folder, Some(self.watch), || {
            let found = self.judge(&since, &mut figures, false).ok().flatten()?;
            let why = found.to_string();
            halt.replace(Some(found));
            Some(why)
        })
    }
}
