//! The process and the folder it writes to.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

/// How much of the log a failing test shows.
const SHOWN: usize = 60;

const LOG: &str = "envoy.log";

/// An Envoy process; killed, and its folder removed, when it goes out of scope.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    folder: Option<TempDir>,
}

impl Process {
    /// Starts `binary` with a configuration of `folder`; relative paths in it start `within`, or else where this process is.
    pub(super) fn start(
        binary: &Path,
        folder: TempDir,
        config: &str,
        within: Option<&Path>,
        concurrency: u32,
    ) -> Result<Self> {
        let at = |name: &str| folder.path().join(name);
        let output = File::create(at("output.log"))?;
        let mut command = Command::new(binary);
        if let Some(within) = within {
            command.current_dir(folder.path().join(within));
        }
        let child = command
            .arg("--config-path")
            .arg(at(config))
            .arg("--admin-address-path")
            .arg(at("admin"))
            .arg("--log-path")
            .arg(at(LOG))
            .args(["--concurrency", &concurrency.to_string()])
            .args(["--log-level", "info"])
            // At `info` it begins with a list of everything that it was built with.
            .args(["--component-log-level", "main:warning"])
            .args(["--file-flush-interval-msec", "50"])
            // No memory is shared with other Envoys, so any number of them can run.
            .arg("--disable-hot-restart")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        Ok(Self {
            child,
            folder: Some(folder),
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new("/"), TempDir::path)
    }

    /// The log, and what went to the standard streams before there was one.
    pub(super) fn log(&self) -> String {
        ["output.log", LOG]
            .map(|name| fs::read(self.folder().join(name)).unwrap_or_default())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat()
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// A figure of /proc/PID/status, which is given there in kB.
    pub(super) fn status_bytes(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|rest| rest.split_whitespace().next())
            .ok_or_else(|| anyhow!("no {name} in /proc/{}/status", self.pid()))?;
        Ok(kilobytes.parse::<u64>()? * 1024)
    }
}

impl Drop for Process {
    #[allow(
        clippy::print_stderr,
        reason = "a failing test shows what Envoy had to say"
    )]
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let from = lines.len().saturating_sub(SHOWN);
            eprintln!("--- the end of Envoy's log");
            for line in lines.iter().skip(from) {
                eprintln!("{line}");
            }
            if let Some(folder) = self.folder.take() {
                eprintln!("--- all of it in {}", folder.keep().display());
            }
        }
    }
}
