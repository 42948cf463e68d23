//! nginx.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::program::Program;
use super::server::Server;

const CONF: &str = "nginx.conf";

/// A running nginx; killed when it goes out of scope.
#[derive(Debug)]
pub struct Nginx(Server);

impl Nginx {
    /// What has to be installed.
    pub const PROGRAM: Program = Program::NGINX;

    /// Whether it is installed.
    #[must_use]
    pub fn available() -> bool {
        Self::PROGRAM.find().is_some()
    }

    /// Starts it with this configuration and waits until it answers. The first `listen` gets a free port of 127.0.0.1 instead
    /// of what it says, and the first `proxy_cache_path` a folder that is removed at the end; relative paths lie there too.
    ///
    /// # Errors
    ///
    /// It is not installed, or did not come up; the error holds its log.
    pub async fn start(conf: &str) -> Result<Self> {
        Server::start(|folder, address| with(folder, conf, address, "off"))
            .await
            .map(Self)
    }

    /// Has nginx read this configuration without running it.
    ///
    /// # Errors
    ///
    /// It is not installed, or refuses the configuration; the error holds what it said.
    pub fn check(conf: &str) -> Result<()> {
        let folder = tempfile::tempdir()?;
        // Taken or not: a check binds the port, and does not mind if it cannot.
        let any = SocketAddr::from(([127, 0, 0, 1], 8081));
        let mut command = with(folder.path(), conf, any, "off")?;
        command.arg("-t");
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

/// A command that knows the configuration and writes to `folder` alone; `master`: whether it is to have worker processes.
pub(crate) fn with(
    folder: &Path,
    conf: &str,
    address: SocketAddr,
    master: &str,
) -> Result<Command> {
    fs::write(folder.join(CONF), placed(conf, address)?)?;
    let mut command = Nginx::PROGRAM.command()?;
    command
        .arg("-p")
        .arg(folder)
        .args(["-c", CONF, "-e", "stderr"])
        .arg("-g")
        .arg(format!(
            "daemon off; master_process {master}; pid nginx.pid; error_log stderr;"
        ));
    Ok(command)
}

/// The configuration with another address to listen on, and with none of the system's folders in use.
fn placed(conf: &str, address: SocketAddr) -> Result<String> {
    let conf = argument(conf, "listen ", ';', &address.to_string()).context("no `listen`")?;
    let conf = argument(&conf, "proxy_cache_path ", ' ', "cache").unwrap_or(conf);
    let (before, after) = conf.split_once("http {").context("no `http {`")?;
    let mut conf = format!("{before}http {{\n    access_log access.log;\n");
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(conf, "    {kind}_temp_path temp_{kind};")?;
    }
    Ok(conf + after)
}

/// The text with `value` in place of what stands between the first `directive` and `end`.
fn argument(conf: &str, directive: &str, end: char, value: &str) -> Option<String> {
    let (before, rest) = conf.split_once(directive)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{directive}{value}{end}{after}"))
}
