//! One step: a share of callers, held for a time while Envoy is asked what it counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::Figures;
use super::stop::STOPPED;
use super::walk::{Halt, Walk};
use crate::ship::change::Note;
use crate::ship::{Change, Done, Held, Slot};

/// How often Envoy is asked while a step is held.
const LOOK: Duration = Duration::from_millis(500);

/// The least pause between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// For how long Envoy may not answer while a step is held.
const LOST: Duration = Duration::from_secs(10);

/// Envoy's p99 is that of its last interval of 5 s: before, it is of the time before the step.
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
        let before = self.read()?;
        let by = self.plan.by.clone();
        let mut change = Change::mount(
            self.folder,
            Slot::Candidate,
            self.module,
            &Held::Canary { percent, by },
        )?;
        change.note = Note::Passing;
        // The first callers have it before all workers do.
        let mut broken = None;
        let done = change.make_while(self.folder, Some(self.watch), || {
            if let Ok(now) = self.read() {
                *figures = now.since(&before);
                figures.p99_ms = None;
                broken = self.plan.bounds.broken(figures, self.plan.least);
            }
            let stopped = self.stop.is_wished().then(|| STOPPED.to_owned());
            broken.as_ref().map(ToString::to_string).or(stopped)
        })?;
        if let Done::Undone(why) = done {
            return Ok(Some(broken.map_or(Halt::Other(why), Halt::Bound)));
        }
        held();
        Ok(self.hold(percent, &before, figures))
    }

    fn hold(&self, percent: u8, before: &Figures, figures: &mut Figures) -> Option<Halt> {
        let begun = Instant::now();
        let mut answered = begun;
        let bar = bar(self.plan.hold, percent);
        let halt = loop {
            match self.read() {
                Ok(now) if now.are_anew(before) => {
                    let why = "envoy counts anew, so it was started again while the share was held";
                    break Some(Halt::Other(why.to_owned()));
                }
                Ok(now) => {
                    answered = Instant::now();
                    *figures = now.since(before);
                    if begun.elapsed() < INTERVAL {
                        figures.p99_ms = None;
                    }
                    if let Some(broken) = self.plan.bounds.broken(figures, self.plan.least) {
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
            let left = self.plan.hold.saturating_sub(begun.elapsed());
            if left.is_zero() && answered.elapsed() < LOOK {
                break None;
            }
            if self.stop.sleep(left.clamp(PAUSE, LOOK)) {
                break Some(Halt::Other(STOPPED.to_owned()));
            }
        };
        bar.finish_and_clear();
        halt
    }

    fn read(&self) -> Result<Figures> {
        Figures::read(&self.watch.admin, &self.module.identity.policy)
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
