//! What the tool says by its exit status.

use std::process::ExitCode;

/// Exit statuses; the same for every verb. 2 is `clap`'s own, for a command line that it cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it is as it should be.
    Done,
    /// 1: mistakes in a policy, cases that failed, or a canary that was halted.
    Failed,
    /// 3: no mistakes, but warnings.
    Warned,
    /// 4: it could not be done: a file cannot be read or written, Envoy does not answer.
    Unable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Warned => 3,
            Exit::Unable => 4,
        })
    }
}
