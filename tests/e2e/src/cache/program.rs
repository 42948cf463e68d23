//! Programs that tests use where they are installed.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Where Debian puts servers; not on everyone's `PATH`.
const SERVERS: &str = "/usr/sbin";

/// A program that need not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    name: &'static str,
    package: &'static str,
}

impl Program {
    pub(super) const VARNISH: Self = Self {
        name: "varnishd",
        package: "varnish",
    };
    pub(crate) const NGINX: Self = Self {
        name: "nginx",
        package: "nginx",
    };
    pub(crate) const HAPROXY: Self = Self {
        name: "haproxy",
        package: "haproxy",
    };

    /// Its file, if it is installed.
    pub(super) fn find(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain([PathBuf::from(SERVERS)]);
        folders
            .map(|folder| folder.join(self.name))
            .find(|f| f.is_file())
    }

    /// Begins a command that runs it.
    pub(crate) fn command(self) -> Result<Command> {
        let file = self.find().with_context(|| self.to_string())?;
        let mut command = Command::new(file);
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a check to its end; the error holds what it said.
    pub(super) fn check(self, mut command: Command) -> Result<()> {
        let check = command.output().with_context(|| self.name)?;
        let said = String::from_utf8_lossy(&check.stderr);
        ensure!(check.status.success(), "{}: {said}", self.name);
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, package } = self;
        write!(
            f,
            "{name} is not installed; install it (Debian: apt-get install {package})"
        )
    }
}

/// Whether a test that needs `program` ([`super::Varnish::PROGRAM`], [`super::Nginx::PROGRAM`]) has to return without having
/// tested anything; it says so.
///
/// # Panics
///
/// It is missing and `CI` is set: there nothing may go untested.
#[must_use]
#[allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a test is skipped where people see it, and never where nobody looks"
)]
pub fn skipped(program: Program) -> bool {
    if program.find().is_some() {
        return false;
    }
    if std::env::var_os("CI").is_some_and(|ci| !ci.is_empty()) {
        panic!("{program}");
    }
    println!("skipped: {program}");
    true
}

#[cfg(test)]
mod tests {
    use super::Program;

    #[test]
    fn one_that_is_missing_is_named_with_what_brings_it() {
        let none = Program {
            name: "no-such-server",
            package: "none",
        };
        assert_eq!(none.find(), None);
        let said = none.command().unwrap_err().to_string();
        assert_eq!(
            said,
            "no-such-server is not installed; install it (Debian: apt-get install none)"
        );
    }
}
