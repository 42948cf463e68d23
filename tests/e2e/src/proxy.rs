//! Proxies of other makers, as they are run: a master, and one worker that it replaces when it is told to read its
//! configuration again.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cache::nginx;
use crate::cache::server::Server;
use crate::{cache::Program, eventually};

/// What has to be installed for [`Proxy::nginx`].
pub const NGINX: Program = Program::NGINX;

/// What has to be installed for [`Proxy::haproxy`].
pub const HAPROXY: Program = Program::HAPROXY;

/// How long a reload may take.
const RELOAD: Duration = Duration::from_secs(5);

/// How often a master is told.
const TRIES: usize = 4;

/// A running proxy; ended when it goes out of scope.
#[derive(Debug)]
pub struct Proxy {
    server: Server,
    /// The signal by which its master reads the configuration again.
    again: &'static str,
}

impl Proxy {
    /// nginx with this configuration, of which the first `listen` gets a free port of 127.0.0.1 instead of what it says.
    ///
    /// # Errors
    ///
    /// It is not installed, or did not come up; the error holds its log.
    pub async fn nginx(conf: &str) -> Result<Self> {
        let server = Server::start(|folder, address| nginx::with(folder, conf, address, "on"));
        Ok(Self {
            server: server.await?.with_workers(),
            again: "HUP",
        })
    }

    /// `HAProxy` with what `conf` makes of the address to listen on and of a folder for sockets. It calls itself `here` among its peers.
    ///
    /// # Errors
    ///
    /// It is not installed, or did not come up; the error holds its log.
    pub async fn haproxy(conf: impl Fn(SocketAddr, &Path) -> String) -> Result<Self> {
        let server = Server::start(|folder, address| {
            fs::write(folder.join("haproxy.cfg"), conf(address, folder))?;
            let mut command = Program::HAPROXY.command()?;
            command.args(["-W", "-db", "-L", "here", "-f"]);
            command.arg(folder.join("haproxy.cfg"));
            Ok(command)
        });
        Ok(Self {
            server: server.await?.with_workers(),
            again: "USR2",
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What it said so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    /// The process of its one worker.
    ///
    /// # Errors
    ///
    /// There is none, or there are two, as for a while after a reload.
    pub fn worker(&self) -> Result<u32> {
        let workers = children(self.server.pid())?;
        ensure!(workers.len() == 1, "{} workers", workers.len());
        workers.first().copied().context("a worker")
    }

    /// All its processes.
    ///
    /// # Errors
    ///
    /// They cannot be told.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let mut pids = children(self.server.pid())?;
        pids.push(self.server.pid());
        Ok(pids)
    }

    /// Has it read its configuration again, and waits until another worker has taken the place of the one that was there.
    ///
    /// # Errors
    ///
    /// It did not.
    pub async fn reload(&self) -> Result<()> {
        let before = self.worker()?;
        let mut tries = 1;
        loop {
            signal(self.server.pid(), self.again)?;
            let reloaded = eventually(RELOAD, async || {
                let worker = self.worker()?;
                ensure!(worker != before, "the worker is still the one before");
                Ok(())
            })
            .await;
            // A master that was started just now may not listen yet, and forgets what it was told.
            if reloaded.is_ok() || tries == TRIES {
                return reloaded.with_context(|| self.log());
            }
            tries += 1;
        }
    }
}

/// Sends a signal to a process.
///
/// # Errors
///
/// There is no such process.
pub(crate) fn signal(pid: u32, name: &str) -> Result<()> {
    // Of a shell, since not every system has it as a program.
    let sent = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(sent.success(), "cannot send {name} to process {pid}");
    Ok(())
}

fn children(parent: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for process in fs::read_dir("/proc")? {
        let Some(pid) = process?.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // One that has ended meanwhile is nobody's child.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // What stands in parentheses may hold anything. After it: the state, then the parent.
        let mut after = stat
            .rsplit_once(") ")
            .map_or("", |(_, after)| after)
            .split(' ');
        let state = after.next();
        if state != Some("Z") && after.next().and_then(|p| p.parse().ok()) == Some(parent) {
            children.push(pid);
        }
    }
    Ok(children)
}
