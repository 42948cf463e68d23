//! The steps of a canary, one after the other.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Serialize;

use super::files::Files;
use super::looks::Looks;
use super::outside::Outside;
use super::stop::{STOPPED, Stop};
use super::{Bounds, Broken, Figures, Steps};
use crate::ship::change::{enforces_nothing, nothing, runs};
use crate::ship::file::Prepared;
use crate::ship::make::Watch;
use crate::ship::{Folder, Held, Module, Slot};

/// How long Envoy is watched before the first share, to know what callers outside it get.
const BEFORE: Duration = Duration::from_secs(10);

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

/// A canary under way. However it is left, the candidate's slot is as before, or empty.
pub(crate) struct Walk<'a> {
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Folder,
    pub(super) module: &'a Module,
    pub(super) watch: &'a Watch,
    pub(super) stop: Stop,
    pub(super) looks: Looks<'a>,
    pub(super) files: Files<'a>,
    pub(super) outside: Cell<Outside>,
    /// Something of it is in the candidate's slot.
    pub(super) begun: Cell<bool>,
    /// What the slot is to hold when it is over, and what that is to what it held before.
    back: RefCell<Prepared>,
    back_is: Left,
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
    /// Envoy is watched without the policy.
    Before(Duration),
    /// Every worker runs a step, which is held from now on.
    Held {
        /// The share, in percent.
        percent: u8,
        /// For how long.
        hold: Duration,
    },
    /// A step is over; if the canary ends with it, what was there is there again.
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
        /// What became of the candidate's slot.
        candidate: Left,
        /// What became of the gate.
        gate: Left,
        /// Why the candidate's slot could not be put back, if it could not.
        left: Option<String>,
    },
}

/// In what state a slot is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Left {
    /// Nothing was changed.
    Untouched,
    /// It holds again what it held before.
    PutBack,
    /// It is empty: what it held before was enforced, and no way back.
    Emptied,
    /// Somebody else changed it, and it holds what he wrote.
    Theirs,
    /// It could not be put back.
    Astray,
}

/// Why a canary ended early.
pub(super) enum Halt {
    /// A bound is broken.
    Bound(Broken),
    /// Anything else.
    Other(String),
}

impl<'a> Walk<'a> {
    /// Looks at what is there, writes the way back, and listens for the wish to end.
    ///
    /// # Errors
    /// The module does not take what it will be told, the way back cannot be written, or the system does not let us listen.
    pub(crate) fn new(
        plan: &'a Plan,
        folder: &'a Folder,
        module: &'a Module,
        watch: &'a Watch,
    ) -> Result<Self> {
        for percent in plan.steps.shares() {
            module.takes(&plan.held(*percent))?;
        }
        module.takes(&promoted(module))?;
        let gate = runs(folder, Slot::Gate, &folder.mounts(Slot::Gate)?);
        let part = gate.map(|(runs, _)| runs.enforced);
        let part = part.filter(|enforced| (1..100).contains(enforced));
        ensure!(
            part.is_none(),
            "the policy in the gate is itself enforced for {} of a hundred callers, and counted as the candidate would be; pack it without `canary`, and ship that first",
            part.unwrap_or_default()
        );
        let slot = Slot::Candidate;
        let there = folder.mounts(slot)?;
        let file = folder.at(slot.gate().file);
        // What is left of a canary that was killed is no way back, nor is what was enforced there in other ways.
        let (back, back_is) = if enforces_nothing(folder, slot, &there) && file.exists() {
            (Prepared::as_found(&file)?, Left::PutBack)
        } else {
            let resource = folder.resource(slot.gate())?;
            let empty = nothing(slot).into_values().next();
            let empty = empty.map(|mount| resource.with(&mount, Default::default, "0"));
            let bytes = empty.unwrap_or(resource).to_bytes();
            (Prepared::new(&file, &bytes)?, Left::Emptied)
        };
        Ok(Self {
            plan,
            folder,
            module,
            watch,
            stop: Stop::listen()?,
            looks: Looks::new(&watch.admin, &module.identity.policy),
            files: Files::see(folder)?,
            outside: Cell::default(),
            begun: Cell::new(false),
            back: RefCell::new(back),
            back_is,
        })
    }

    /// Walks the steps and promotes the module, or takes it back. `tell` hears of every step.
    ///
    /// # Errors
    /// It could not begin; nothing was changed.
    pub(crate) fn go(&self, mut tell: impl FnMut(Event<'_>)) -> Result<Ended> {
        let shares = self.plan.steps.shares();
        if self.plan.bounds.server_errors() && shares.iter().any(|share| *share < 100) {
            let time = BEFORE.min(self.plan.hold);
            tell(Event::Before(time));
            if let Some(halt) = self.watch_before(time)? {
                let first = shares.first().copied().unwrap_or_default();
                return Ok(self.halted(first, halt, Left::Untouched));
            }
        }
        for percent in shares.iter().copied() {
            let begun = Instant::now();
            let mut figures = Figures::default();
            let hold = self.plan.hold;
            let held = || tell(Event::Held { percent, hold });
            let halt = match self.step(percent, &mut figures, held) {
                // Nothing was begun, so there is nothing to take back.
                Err(error) if !self.begun.get() => return Err(error),
                Err(error) => Some(Halt::Other(format!("{error:#}"))),
                Ok(halt) => halt,
            };
            // Back first, and then the news: who hears it may be gone.
            let ended = halt.map(|halt| self.halted(percent, halt, Left::Untouched));
            tell(Event::Over(&Told {
                percent,
                seconds: begun.elapsed().as_secs(),
                figures,
            }));
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
        Ok(self.promote(shares.last().copied().unwrap_or_default()))
    }

    /// Watches what callers get before any of them has the policy.
    fn watch_before(&self, time: Duration) -> Result<Option<Halt>> {
        let before = self.looks.look()?;
        if self.stop.sleep(time) {
            return Ok(Some(Halt::Other(STOPPED.to_owned())));
        }
        let (Some(before), Some(now)) = (before, self.looks.look()?) else {
            return Ok(Some(Halt::anew()));
        };
        let counted = now.since(&before);
        self.outside.set(Outside {
            answers: counted.answers,
            server_errors: counted.server_errors,
        });
        Ok(None)
    }

    /// Puts the candidate's slot back, and says how it ended.
    pub(super) fn halted(&self, percent: u8, halt: Halt, gate: Left) -> Ended {
        // By the file alone: Envoy may be what does not answer.
        let (candidate, left) = match self.put_back() {
            Ok(left) => (left, None),
            Err(error) => (Left::Astray, Some(format!("{error:#}"))),
        };
        let (reason, bound) = match halt {
            Halt::Bound(broken) => (broken.to_string(), Some(broken)),
            Halt::Other(reason) => (reason, None),
        };
        let theirs = gate == Left::Untouched && self.files.are_theirs(Slot::Gate);
        Ended::Halted {
            percent,
            reason,
            bound,
            candidate,
            gate: if theirs { Left::Theirs } else { gate },
            left,
        }
    }

    /// Puts the candidate's slot back, unless somebody else did what he thought best.
    fn put_back(&self) -> Result<Left> {
        if !self.begun.get() {
            return Ok(Left::Untouched);
        }
        let left = if self.files.are_theirs(Slot::Candidate) {
            Left::Theirs
        } else {
            self.back.borrow_mut().put()?;
            self.back_is
        };
        self.begun.set(false);
        Ok(left)
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

impl Plan {
    /// How the module is held at a share.
    pub(super) fn held(&self, percent: u8) -> Held {
        let by = self.by.clone();
        Held::Canary { percent, by }
    }
}

impl Halt {
    pub(super) fn anew() -> Self {
        Self::Other("envoy was started again, and counts anew".to_owned())
    }
}

/// How a module is held in the gate: a policy that says itself for whom it holds is to hold for everybody now.
pub(super) fn promoted(module: &Module) -> Held {
    if module.canary {
        Held::Everybody
    } else {
        Held::AsPacked
    }
}
