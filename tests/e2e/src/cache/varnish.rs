//! Varnish.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::program::Program;
use super::server::Server;

/// A running varnishd; killed when it goes out of scope.
#[derive(Debug)]
pub struct Varnish(Server);

impl Varnish {
    /// What has to be installed.
    pub const PROGRAM: Program = Program::VARNISH;

    /// Whether it is installed.
    #[must_use]
    pub fn available() -> bool {
        Self::PROGRAM.find().is_some()
    }

    /// Starts it with this VCL, which names its backends, and waits until it answers.
    ///
    /// # Errors
    ///
    /// It is not installed, or did not come up; the error holds its log.
    pub async fn start(vcl: &str) -> Result<Self> {
        Server::start(|folder, address| {
            let mut command = with(folder, vcl)?;
            command
                .arg("-F")
                .args(["-a", &address.to_string()])
                // Nobody speaks to its command line, and its port could be taken.
                .args(["-T", "none"])
                .args(["-s", "malloc,32m"])
                // Two hundred threads would be its default.
                .args(["-p", "thread_pools=1", "-p", "thread_pool_min=10"]);
            Ok(command)
        })
        .await
        .map(Self)
    }

    /// Has Varnish compile this VCL without running it.
    ///
    /// # Errors
    ///
    /// It is not installed, or refuses the VCL; the error holds what it said.
    pub fn check(vcl: &str) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut command = with(folder.path(), vcl)?;
        command.arg("-C");
        Self::PROGRAM.check(command)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// What it said so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.0.log()
    }
}

/// A command that knows the VCL and writes to `folder` alone.
fn with(folder: &Path, vcl: &str) -> Result<Command> {
    let file = folder.join("test.vcl");
    fs::write(&file, vcl)?;
    let mut command = Varnish::PROGRAM.command()?;
    command
        // Started by root it would go on as another user, who cannot enter the folder.
        .args(["-j", "none"])
        .arg("-n")
        .arg(folder.join("work"))
        .arg("-f")
        .arg(file);
    Ok(command)
}
