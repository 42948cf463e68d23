//! A server of another maker: its process, its port, and the folder that it writes to.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::proxy::signal;
use crate::{eventually, raw};

/// How long it may take to answer; for Varnish a run of the C compiler is part of it.
const START: Duration = Duration::from_secs(60);

/// How long it may take to end by itself.
const END: Duration = Duration::from_secs(5);

/// How often another port is tried: a free one can be taken by someone else before the server has it.
const TRIES: usize = 3;

/// What every HTTP/1.1 server refuses by itself, for want of a host. So no question of ours ever gets to the origin.
const QUESTION: &[u8] = b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n";

const LOG: &str = "output.log";

/// A running server; killed, and its folder removed, when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    // Removed after the process is gone: fields are dropped after `drop` has run.
    folder: TempDir,
    address: SocketAddr,
    /// Whether it has processes that only it can end.
    workers: bool,
}

impl Server {
    /// Starts what `command` makes of a folder and an address, and waits until that answers.
    pub(crate) async fn start(
        command: impl Fn(&Path, SocketAddr) -> Result<Command>,
    ) -> Result<Self> {
        let mut tries = 1;
        loop {
            match Self::try_start(&command).await {
                Err(error) if tries < TRIES && taken(&error) => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_start(command: impl Fn(&Path, SocketAddr) -> Result<Command>) -> Result<Self> {
        let folder = TempDir::with_prefix("tidegate-e2e-")?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let output = File::create(folder.path().join(LOG))?;
        let mut command = command(folder.path(), address)?;
        let child = command
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let mut server = Self {
            child,
            folder,
            address,
            workers: false,
        };
        let authority = address.to_string();
        let up = eventually(START, async || {
            if server.child.try_wait()?.is_some() {
                return Ok(false);
            }
            let answer = raw::exchange(&authority, QUESTION).await?;
            ensure!(raw::status(&answer).is_some(), "no HTTP");
            Ok(true)
        })
        .await
        .with_context(|| server.log())?;
        ensure!(up, "{command:?} ended: {}", server.log());
        Ok(server)
    }

    /// From now on it is asked to end, and to end its workers, before it is killed.
    pub(crate) const fn with_workers(mut self) -> Self {
        self.workers = true;
        self
    }

    /// Its first process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it said so far.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(self.folder.path().join(LOG)).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.workers && signal(self.pid(), "TERM").is_ok() {
            let end = Instant::now() + END;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        // It may have ended already; either way nothing is left to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").to_lowercase().contains("in use")
}
