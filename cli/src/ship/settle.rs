//! Waiting until Envoy has taken a change and every worker runs it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};

use super::Admin;
use super::admin::Stats;
use super::module::Identity;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a count of workers may be of before: each tells once a second that it is there.
const STALE: Duration = Duration::from_millis(1500);

/// What Envoy counts of discovery.
const DISCOVERY: &str = "^extension_config_discovery";

/// What the module tells of those that run it.
const WORKERS: &str = "^wasmcustom.tidegate_workers";

/// What is waited for.
#[derive(Debug, Default)]
pub(super) struct Settling {
    /// The resources that were changed.
    pub(super) resources: Vec<Expected>,
    /// What every worker has to run; none where nothing that tells is mounted.
    pub(super) runs: Option<Runs>,
    /// What none may run any more.
    pub(super) ran: Option<Runs>,
}

/// A resource that was changed.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// What Envoy's counters of it are called, without the last part.
    pub(super) counters: String,
    /// The version that was written.
    pub(super) version: String,
}

/// What a worker runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runs {
    /// The module.
    pub(super) module: Identity,
    /// For how many of a hundred callers it is enforced.
    pub(super) enforced: u8,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Every worker runs it: so many VMs; none where nothing that tells is mounted.
    Everywhere(Option<u64>),
    /// Envoy refused it: why.
    Refused(String),
    /// It is not everywhere in time, or somebody gave up: why.
    Late(String),
}

impl Runs {
    fn gauge(&self) -> String {
        let Identity {
            policy,
            version,
            digest,
        } = &self.module;
        format!(
            "wasmcustom.tidegate_workers.policy.{policy}.version.{version}.digest.{}.enforced.{}",
            digest.short(),
            self.enforced
        )
    }
}

/// Envoy before a change.
#[derive(Debug)]
pub(super) struct Before {
    admin: Admin,
    stats: Stats,
    workers: u64,
    limit: Duration,
}

impl Before {
    /// Asks Envoy how it stands, so that nothing is changed where nobody would tell what became of it.
    ///
    /// # Errors
    /// Envoy does not answer.
    pub(super) fn ask(admin: &Admin, limit: Duration) -> Result<Self> {
        Ok(Self {
            workers: admin.server()?.workers,
            stats: admin.stats(DISCOVERY)?,
            admin: admin.clone(),
            limit,
        })
    }

    /// Checks that Envoy discovers a resource.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn discovers(&self, counters: &str) -> Result<()> {
        let known = self.stats.get(&format!("{counters}.update_success"));
        known.map(|_| ()).with_context(|| {
            let name = counters.rsplit('.').next().unwrap_or(counters);
            format!(
                "Envoy at `{}` does not discover a filter `{name}`; its configuration has to have one, as envoy/ecds/envoy.yaml does",
                self.admin.address()
            )
        })
    }

    /// Waits, as long as `meanwhile` has no reason to give up.
    pub(super) fn settle(
        &self,
        settling: &Settling,
        mut meanwhile: impl FnMut() -> Option<String>,
    ) -> Settled {
        let bar = bar();
        let end = Instant::now().checked_add(self.limit);
        let mut accepted = None;
        loop {
            if let Some(reason) = meanwhile() {
                bar.finish_and_clear();
                return Settled::Late(reason);
            }
            let look = self.look(settling, &mut accepted);
            let over = end.is_none_or(|end| Instant::now() >= end);
            match look {
                Ok(Look::Settled(settled)) => {
                    bar.finish_and_clear();
                    return settled;
                }
                Ok(Look::Waiting(what)) if over => {
                    bar.finish_and_clear();
                    return Settled::Late(format!(
                        "after {} {what}",
                        humantime::format_duration(self.limit)
                    ));
                }
                Err(error) if over => {
                    bar.finish_and_clear();
                    return Settled::Late(format!("{error:#}"));
                }
                Ok(Look::Waiting(what)) => bar.set_message(what),
                Err(error) => bar.set_message(format!("{error:#}")),
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn look(&self, settling: &Settling, accepted: &mut Option<Instant>) -> Result<Look> {
        if accepted.is_none() {
            let stats = self.admin.stats(DISCOVERY)?;
            for Expected { counters, .. } in &settling.resources {
                let refused = format!("{counters}.update_rejected");
                if stats.number(&refused) > self.stats.number(&refused) {
                    return Ok(Look::Settled(Settled::Refused(
                        "Envoy refused it; its log says why, in lines that begin with `tidegate:` or name the file of the module".to_owned(),
                    )));
                }
            }
            for Expected { counters, version } in &settling.resources {
                if stats.text(&format!("{counters}.version_text")) != Some(version) {
                    return Ok(Look::Waiting("Envoy has not read it yet".to_owned()));
                }
            }
            *accepted = Some(Instant::now());
        }
        let Some(runs) = &settling.runs else {
            return Ok(Look::Settled(Settled::Everywhere(None)));
        };
        let stats = self.admin.stats(WORKERS)?;
        // One of each worker, and one of Envoy's main thread.
        let all = self.workers.saturating_add(1);
        let run = stats.number(&runs.gauge());
        let ran = settling.ran.as_ref().filter(|ran| *ran != runs);
        let ran = ran.map_or(0, |ran| stats.number(&ran.gauge()));
        let fresh = accepted.is_some_and(|at| at.elapsed() >= STALE);
        if fresh && run == all && ran == 0 {
            return Ok(Look::Settled(Settled::Everywhere(Some(all))));
        }
        Ok(Look::Waiting(match ran {
            0 if run < all => format!(
                "{run} of {all} VMs run it; a worker whose VM died has a new one from its next request on"
            ),
            0 => format!("{run} of {all} VMs run it"),
            _ => format!("{run} of {all} VMs run it, {ran} tell of the one before"),
        }))
    }
}

enum Look {
    Settled(Settled),
    Waiting(String),
}

/// A line that moves, on a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(PAUSE);
    bar
}
