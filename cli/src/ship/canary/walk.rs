//! The steps of a canary, one after the other.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::stop::{STOPPED, Stop};
use super::{Bounds, Broken, Figures, Steps};
use crate::ship::change::Watch;
use crate::ship::{Change, Done, Folder, Held, Module, Slot};

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The shares.
    pub(crate) steps: Steps,
    /// What tells callers apart; the policy's own if not given.
    pub(crate) by: Option<Vec<String>>,
    /// How long each share is held.
    pub(crate) hold: Duration,
    /// What halts it.
    pub(crate) bounds: Bounds,
    /// From how many decisions on a share counts.
    pub(crate) least: u64,
}

/// A canary under way.
pub(crate) struct Walk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Folder,
    pub(super) module: &'a Module,
    pub(super) watch: &'a Watch,
    pub(super) stop: Stop,
    /// What the candidate's slot had before.
    back: Change,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Told {
    /// The share, in percent.
    pub(crate) percent: u8,
    /// How long it took, with the wait for all workers.
    pub(crate) seconds: u64,
    /// What was counted.
    pub(crate) figures: Figures,
}

/// What happens on the way.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// Every worker runs a step, which is held from now on.
    Held {
        /// The share, in percent.
        percent: u8,
        /// For how long.
        hold: Duration,
    },
    /// A step is over.
    Over(&'a Told),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(crate) enum Ended {
    /// The policy is in the gate, and so many VMs run it.
    Promoted {
        /// How many.
        vms: Option<u64>,
    },
    /// It is taken back.
    Halted {
        /// At which share.
        percent: u8,
        /// Why.
        reason: String,
        /// The bound that was broken, if it was one.
        bound: Option<Broken>,
        /// Why the candidate's slot could not be put back, if it could not.
        left: Option<String>,
    },
}

/// Why a canary ended early.
pub(super) enum Halt {
    /// A bound is broken.
    Bound(Broken),
    /// Anything else.
    Other(String),
}

impl<'a> Walk<'a> {
    /// Looks at what is there, and listens for the wish to end.
    ///
    /// # Errors
    /// The candidate's file cannot be read, or the system does not let us listen.
    pub(crate) fn new(
        plan: &'a Plan,
        folder: &'a Folder,
        module: &'a Module,
        watch: &'a Watch,
    ) -> Result<Self> {
        let mut back = Change::empty(Slot::Candidate);
        back.mounts = folder.mounts(Slot::Candidate)?;
        Ok(Self {
            plan,
            folder,
            module,
            watch,
            stop: Stop::listen()?,
            back,
        })
    }

    /// Walks the steps and promotes the module, or takes it back. `tell` hears of every step.
    ///
    /// # Errors
    /// It could not begin; nothing was changed.
    pub(crate) fn go(&self, mut tell: impl FnMut(Event<'_>)) -> Result<Ended> {
        let shares = self.plan.steps.shares();
        for percent in shares.iter().copied() {
            let begun = Instant::now();
            let mut figures = Figures::default();
            let hold = self.plan.hold;
            let held = || tell(Event::Held { percent, hold });
            let halt = match self.step(percent, &mut figures, held) {
                // Nothing was begun, so there is nothing to take back.
                Err(error) if shares.first() == Some(&percent) => return Err(error),
                Err(error) => Some(Halt::Other(format!("{error:#}"))),
                Ok(halt) => halt,
            };
            tell(Event::Over(&Told {
                percent,
                seconds: begun.elapsed().as_secs(),
                figures,
            }));
            if let Some(halt) = halt {
                return Ok(self.halted(percent, halt));
            }
        }
        self.promote(shares.last().copied().unwrap_or_default())
    }

    fn promote(&self, last: u8) -> Result<Ended> {
        if self.stop.is_wished() {
            return Ok(self.halted(last, Halt::Other(STOPPED.to_owned())));
        }
        // A policy that says itself for whom it holds is to hold for everybody now.
        let held = if self.module.canary {
            Held::Canary {
                percent: 100,
                by: None,
            }
        } else {
            Held::AsPacked
        };
        let done = Change::mount(self.folder, Slot::Gate, self.module, &held)
            .and_then(|change| change.make(self.folder, Some(self.watch)));
        let halt = match done {
            Ok(Done::Everywhere(vms)) => {
                Change::empty(Slot::Candidate)
                    .make(self.folder, None)
                    .context(
                        "the module is in the gate, and the candidate's slot could not be emptied",
                    )?;
                return Ok(Ended::Promoted { vms });
            }
            Ok(Done::Written) => "nobody told what became of it".to_owned(),
            Ok(Done::Undone(why) | Done::Unconfirmed(why)) => why,
            Err(error) => format!("{error:#}"),
        };
        Ok(self.halted(last, Halt::Other(format!("not promoted: {halt}"))))
    }

    /// Puts the candidate's slot back.
    fn halted(&self, percent: u8, halt: Halt) -> Ended {
        // By the file alone: Envoy may be what does not answer.
        let left = self.back.make(self.folder, None).err();
        let (reason, bound) = match halt {
            Halt::Bound(broken) => (broken.to_string(), Some(broken)),
            Halt::Other(reason) => (reason, None),
        };
        Ended::Halted {
            percent,
            reason,
            bound,
            left: left.map(|error| format!("{error:#}")),
        }
    }
}
