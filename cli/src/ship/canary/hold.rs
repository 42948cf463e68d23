//! One step: a share of callers, held for a time while Envoy is asked what it counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::Figures;
use super::stop::STOPPED;
use super::walk::{Halt, Walk};
use crate::ship::{Change, Done, Slot};

/// How often Envoy is asked while a step is held.
const LOOK: Duration = Duration::from_millis(500);

/// The least pause between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// For how long Envoy may not answer while a step is held.
const LOST: Duration = Duration::from_secs(10);

/// Envoy's p99 is that of its last interval of 5 s: until there was a whole one, it is of the time before the step.
const INTERVAL: Duration = Duration::from_secs(5);

impl Walk<'_> {
    /// Takes a step and holds it; why it ended early, if it did.
    ///
    /// # Errors
    /// It could not be taken; what was there is there again.
    pub(super) fn step(
        &self,
        percent: u8,
        figures: &mut Figures,
        held: impl FnOnce(),
    ) -> Result<Option<Halt>> {
        let Some(since) = self.looks.look()? else {
            return Ok(Some(Halt::anew()));
        };
        let slot = Slot::Candidate;
        let held_so = self.plan.held(percent);
        let change = Change::mount(self.folder, slot, self.module, &held_so)?.passing();
        // The first callers have it before all workers do.
        let mut halt = None;
        let done = change.make_passing(
            self.folder,
            self.watch,
            |file| {
                let _lock = self.folder.lock(Duration::ZERO)?;
                self.files.are_ours()?;
                self.begun.set(true);
                file.put()?;
                self.files.note(slot.gate())
            },
            || {
                halt = self.look(&since, figures, false).ok().flatten();
                halt.as_ref().map(ToString::to_string)
            },
        )?;
        if let Done::Undone(why) = done {
            return Ok(Some(halt.unwrap_or(Halt::Other(why))));
        }
        held();
        Ok(self.hold(percent, &since, figures))
    }

    fn hold(&self, percent: u8, since: &Figures, figures: &mut Figures) -> Option<Halt> {
        let begun = Instant::now();
        let mut answered = begun;
        let bar = bar(self.plan.hold, percent);
        let halt = loop {
            match self.look(since, figures, begun.elapsed() >= INTERVAL) {
                Ok(Some(halt)) => break Some(halt),
                Ok(None) => answered = Instant::now(),
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
            let left = self.plan.hold.saturating_sub(begun.elapsed());
            if left.is_zero() && answered.elapsed() < LOOK {
                break self.verdict(figures);
            }
            if self.stop.sleep(left.clamp(PAUSE, LOOK)) {
                break Some(Halt::Other(STOPPED.to_owned()));
            }
        };
        bar.finish_and_clear();
        halt
    }

    /// What is said of a share at the end of its hold: it is judged by whatever was counted, and not passed by too little.
    fn verdict(&self, figures: &Figures) -> Option<Halt> {
        let bounds = &self.plan.bounds;
        if let Some(broken) = bounds.broken(figures, self.outside.get(), 0) {
            return Some(Halt::Bound(broken));
        }
        let (found, least) = (figures.decisions, self.plan.least);
        (found < least).then(|| {
            Halt::Other(format!(
                "too few to judge: {found} decisions for the share in all its time, and `--min-decisions` is {least}; write a longer `--hold`, or `--min-decisions 0` to go on all the same"
            ))
        })
    }

    /// Looks at the files and at Envoy; why the canary ends, if it does.
    fn look(&self, since: &Figures, figures: &mut Figures, p99: bool) -> Result<Option<Halt>> {
        if let Some(theirs) = self.files.theirs() {
            return Ok(Some(Halt::Other(theirs)));
        }
        self.judge(since, figures, p99)
    }

    /// Looks at Envoy; why the canary ends, if it does.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub(super) fn judge(
        &self,
        since: &Figures,
        figures: &mut Figures,
        p99: bool,
    ) -> Result<Option<Halt>> {
        if self.stop.is_wished() {
            return Ok(Some(Halt::Other(STOPPED.to_owned())));
        }
        let Some(now) = self.looks.look()? else {
            return Ok(Some(Halt::anew()));
        };
        *figures = now.since(since);
        if !p99 {
            figures.p99_ms = None;
        }
        let Self { plan, outside, .. } = self;
        let broken = plan.bounds.broken(figures, outside.get(), plan.least);
        Ok(broken.map(Halt::Bound))
    }
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound(broken) => broken.fmt(f),
            Self::Other(why) => f.write_str(why),
        }
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
