//! The steps of a canary, one after the other.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::stop::Stop;
use super::{Bounds, Broken, Figures, Steps};
use crate::ship::change::{Note, Watch};
use crate::ship::{Change, Done, Folder, Held, Module, Slot};

/// How often Envoy is asked while a step is held.
const LOOK: Duration = Duration::from_millis(500);

/// For how long Envoy may not answer while a step is held.
pub(crate) const LOST: Duration = Duration::from_secs(10);

/// Envoy's p99 is that of its last interval of 5 s: before, it is of the time before the step.
const INTERVAL: Duration = Duration::from_secs(5);

/// What is said of a wish to end.
const STOPPED: &str = "somebody stopped it";

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Steps,
    pub(crate) by: Option<Vec<String>>,
    pub(crate) hold: Duration,
    pub(crate) bounds: Bounds,
    /// From how many decisions on a share counts.
    pub(crate) least: u64,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Told {
    /// The share, in percent.
    pub(crate) percent: u8,
    /// For how long it was held.
    pub(crate) seconds: u64,
    /// What was counted.
    pub(crate) figures: Figures,
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

/// Why a step ended early.
enum Halt {
    Bound(Broken),
    Other(String),
}

impl Plan {
    /// Walks the steps and promotes the module, or takes it back. `tell` hears of every step.
    ///
    /// # Errors
    /// It could not begin; nothing was changed.
    pub(crate) fn walk(
        &self,
        folder: &Folder,
        module: &Module,
        watch: &Watch,
        mut tell: impl FnMut(Event<'_>),
    ) -> Result<Ended> {
        let stop = Stop::listen()?;
        // What the slot has now is there again if this is halted.
        let mut back = Change::empty(Slot::Candidate);
        back.mounts = folder.mounts(Slot::Candidate)?;
        for percent in self.steps.shares() {
            let begun = Instant::now();
            let mut figures = Figures::default();
            let halt = self.step(
                folder,
                module,
                watch,
                *percent,
                &stop,
                &mut figures,
                &mut tell,
            );
            let told = Told {
                percent: *percent,
                seconds: begun.elapsed().as_secs(),
                figures,
            };
            match halt {
                Ok(None) => tell(Event::Over(&told)),
                Ok(Some(halt)) => {
                    tell(Event::Over(&told));
                    return Ok(halted(folder, &back, *percent, halt));
                }
                // Nothing was begun, so there is nothing to take back.
                Err(error) if Some(percent) == self.steps.shares().first() => return Err(error),
                Err(error) => {
                    let halt = Halt::Other(format!("{error:#}"));
                    return Ok(halted(folder, &back, *percent, halt));
                }
            }
        }
        self.promote(folder, module, watch, &back, &stop)
    }

    /// Takes a step and holds it; why it ended early, if it did.
    fn step(
        &self,
        folder: &Folder,
        module: &Module,
        watch: &Watch,
        percent: u8,
        stop: &Stop,
        figures: &mut Figures,
        tell: &mut impl FnMut(Event<'_>),
    ) -> Result<Option<Halt>> {
        let policy = &module.identity.policy;
        let held = Held::Canary {
            percent,
            by: self.by.clone(),
        };
        let before = Figures::read(&watch.admin, policy)?;
        let mut change = Change::mount(folder, Slot::Candidate, module, &held)?;
        change.note = Note::Passing;
        // The first callers have it before all workers do.
        let mut broken = None;
        let done = change.make_while(folder, Some(watch), || {
            if let Ok(now) = Figures::read(&watch.admin, policy) {
                *figures = now.since(&before);
                figures.p99_ms = None;
                broken = self.bounds.broken(figures, self.least);
            }
            let stopped = stop.is_wished().then(|| STOPPED.to_owned());
            broken.as_ref().map(ToString::to_string).or(stopped)
        })?;
        if let Done::Undone(why) = done {
            return Ok(Some(broken.map_or(Halt::Other(why), Halt::Bound)));
        }
        let begun = Instant::now();
        let mut answered = begun;
        let hold = self.hold;
        tell(Event::Held { percent, hold });
        let bar = bar(hold, percent);
        let halt = loop {
            match Figures::read(&watch.admin, policy) {
                Ok(now) => {
                    answered = Instant::now();
                    *figures = now.since(&before);
                    if begun.elapsed() < INTERVAL {
                        figures.p99_ms = None;
                    }
                    if let Some(broken) = self.bounds.broken(figures, self.least) {
                        break Some(Halt::Bound(broken));
                    }
                }
                Err(error) if answered.elapsed() >= LOST => {
                    let lost = humantime::format_duration(LOST);
                    break Some(Halt::Other(format!("no answer for {lost}: {error:#}")));
                }
                Err(_) => {}
            }
            bar.set_position(begun.elapsed().as_secs());
            bar.set_message(format!(
                "{} of {} refused, {} of {} answers 5xx",
                figures.refused, figures.decisions, figures.server_errors, figures.answers
            ));
            // Nobody vouches for a step whose end nobody saw.
            let left = self.hold.saturating_sub(begun.elapsed());
            if left.is_zero() && answered.elapsed() < LOOK {
                break None;
            }
            if stop.sleep(LOOK.min(left.max(Duration::from_millis(20)))) {
                break Some(Halt::Other(STOPPED.to_owned()));
            }
        };
        bar.finish_and_clear();
        Ok(halt)
    }

    fn promote(
        &self,
        folder: &Folder,
        module: &Module,
        watch: &Watch,
        back: &Change,
        stop: &Stop,
    ) -> Result<Ended> {
        let last = self.steps.shares().last().copied().unwrap_or(100);
        let stopped = || Halt::Other(STOPPED.to_owned());
        if stop.is_wished() {
            return Ok(halted(folder, back, last, stopped()));
        }
        // A policy that says itself for whom it holds is to hold for everybody now.
        let held = if module.canary {
            Held::Canary {
                percent: 100,
                by: None,
            }
        } else {
            Held::AsPacked
        };
        let done = Change::mount(folder, Slot::Gate, module, &held)
            .and_then(|change| change.make(folder, Some(watch)));
        let vms = match done {
            Ok(Done::Everywhere(vms)) => vms,
            Ok(Done::Written) => None,
            Ok(Done::Undone(why)) => return Ok(halted(folder, back, last, Halt::Other(why))),
            Err(error) => {
                let halt = Halt::Other(format!("{error:#}"));
                return Ok(halted(folder, back, last, halt));
            }
        };
        Change::empty(Slot::Candidate)
            .make(folder, None)
            .context("the module is in the gate, and the candidate's slot could not be emptied")?;
        Ok(Ended::Promoted { vms })
    }
}

fn halted(folder: &Folder, back: &Change, percent: u8, halt: Halt) -> Ended {
    // By the file alone: Envoy may be what does not answer.
    let left = back
        .make(folder, None)
        .err()
        .map(|error| format!("{error:#}"));
    let (reason, bound) = match halt {
        Halt::Bound(broken) => (broken.to_string(), Some(broken)),
        Halt::Other(reason) => (reason, None),
    };
    Ended::Halted {
        percent,
        reason,
        bound,
        left,
    }
}

fn bar(hold: Duration, percent: u8) -> ProgressBar {
    let bar = ProgressBar::new(hold.as_secs());
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {elapsed} of {len}s  {msg}")
    {
        bar.set_style(style);
    }
    bar.with_prefix(format!("{percent}%"))
}
