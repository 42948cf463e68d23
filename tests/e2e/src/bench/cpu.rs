//! Which core a process runs on, and what a thread of it spent there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// The core of the proxy that is measured.
pub const PROXY: usize = 0;

/// The core of all others: the client, the origin and the benchmark.
pub const OTHERS: usize = 1;

/// Binds every thread of a process to one core; those that it starts later are bound as well.
///
/// # Errors
///
/// There is no such core, or no `taskset`.
pub fn pin(pid: u32, core: usize) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A process that is bound already sees one core; that is this one, and it was checked before.
    ensure!(
        core != OTHERS || cores > OTHERS,
        "this machine has {cores} core; the benchmark needs two, one for the proxy alone"
    );
    let done = Command::new("taskset")
        .args(["--all-tasks", "--pid", "--cpu-list"])
        .args([core.to_string(), pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("`taskset` of util-linux is needed to bind a process to one core")?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success(),
        "cannot bind process {pid} to core {core}: {}",
        said.trim()
    );
    Ok(())
}

/// A thread whose time is counted.
#[derive(Debug)]
pub struct Thread {
    schedstat: PathBuf,
}

impl Thread {
    /// The one worker of an Envoy.
    ///
    /// # Errors
    ///
    /// The process is gone, or has no such thread.
    pub fn envoy_worker(pid: u32) -> Result<Self> {
        Self::named(pid, "wrk:worker_0")
    }

    /// The first thread of a process: of one that works by one thread, all of it.
    #[must_use]
    pub fn first(pid: u32) -> Self {
        Self::at(Path::new(&format!("/proc/{pid}/task/{pid}")))
    }

    fn named(pid: u32, name: &str) -> Result<Self> {
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?.path();
            if fs::read_to_string(task.join("comm"))?.trim() == name {
                return Ok(Self::at(&task));
            }
        }
        anyhow::bail!("process {pid} has no thread named {name}")
    }

    fn at(task: &Path) -> Self {
        Self {
            schedstat: task.join("schedstat"),
        }
    }

    /// The time that it spent on a core so far, in nanoseconds.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn nanos(&self) -> Result<u64> {
        let text = fs::read_to_string(&self.schedstat)?;
        let first = text.split_whitespace().next();
        Ok(first.context("an empty schedstat")?.parse()?)
    }
}

/// The time that all threads of a process spent on cores so far.
///
/// # Errors
///
/// It is gone.
pub fn of_process(pid: u32) -> Result<Duration> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?;
    let spent = tasks.map(|task| Thread::at(&task?.path()).nanos());
    Ok(Duration::from_nanos(spent.sum::<Result<_>>()?))
}
