//! What should have happened, and what did not.

use std::process::ExitCode;

/// The expectations so far.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    met: Vec<String>,
    failed: Vec<String>,
}

impl Checks {
    /// Notes whether something is as it should be; `what` is the whole sentence.
    pub(crate) fn expect(&mut self, holds: bool, what: impl Into<String>) {
        let what = what.into();
        if holds {
            self.met.push(what);
        } else {
            println!("  ! not so: {what}");
            self.failed.push(what);
        }
    }

    /// Sums up, and says with what status to end.
    pub(crate) fn conclude(self) -> ExitCode {
        println!();
        if self.failed.is_empty() {
            println!("All {} expectations were met.", self.met.len());
            return ExitCode::SUCCESS;
        }
        eprintln!("{} expectations were not met:", self.failed.len());
        for what in &self.failed {
            eprintln!("  - {what}");
        }
        ExitCode::FAILURE
    }
}
