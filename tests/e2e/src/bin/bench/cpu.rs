//! Which core a process runs on, and what its worker spent there.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The core of the Envoy that is measured.
pub(crate) const ENVOY: usize = 0;

/// The core of all others: the client, the origin and this program.
pub(crate) const OTHERS: usize = 1;

/// Binds every thread of a process to one core; those that it starts later are bound as well.
pub(crate) fn pin(pid: u32, core: usize) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A process that is bound already sees one core; that is this one, and it was checked before.
    ensure!(
        core != OTHERS || cores > OTHERS,
        "this machine has {cores} core; the benchmark needs two, one for Envoy alone"
    );
    let done = Command::new("taskset")
        .args(["--all-tasks", "--pid", "--cpu-list"])
        .args([core.to_string(), pid.to_string()])
        .stdout(Stdio::null())
        .status()
        .context("`taskset` of util-linux is needed to bind Envoy to one core")?;
    ensure!(done.success(), "cannot bind process {pid} to core {core}");
    Ok(())
}

/// The thread of Envoy's one worker.
pub(crate) struct Worker {
    schedstat: PathBuf,
}

impl Worker {
    const NAME: &str = "wrk:worker_0";

    pub(crate) fn of(pid: u32) -> Result<Self> {
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?.path();
            if fs::read_to_string(task.join("comm"))?.trim() == Self::NAME {
                let schedstat = task.join("schedstat");
                return Ok(Self { schedstat });
            }
        }
        anyhow::bail!("Envoy has no thread named {}", Self::NAME)
    }

    /// The time that it spent on the core so far, in nanoseconds.
    pub(crate) fn nanos(&self) -> Result<u64> {
        let text = fs::read_to_string(&self.schedstat)?;
        let first = text.split_whitespace().next();
        Ok(first.context("an empty schedstat")?.parse()?)
    }
}
