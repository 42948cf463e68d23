//! What became of a change, in words.

use serde::Serialize;

use crate::exit::Exit;
use crate::output::{CAUTION, GOOD, Output};
use crate::ship::{Done, Slot};

/// What became of it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(crate) enum Outcome {
    /// It is written, and nobody was asked.
    Written,
    /// So many VMs run it: all.
    Running { vms: Option<u64> },
    /// It is written, and not every worker told that it runs it.
    Unconfirmed { reason: String },
    /// What was there is there again.
    Undone { reason: String },
}

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        match done {
            Done::Written => Self::Written,
            Done::Everywhere(vms) => Self::Running { vms },
            Done::Unconfirmed(reason) => Self::Unconfirmed { reason },
            Done::Undone(reason) => Self::Undone { reason },
        }
    }
}

impl Outcome {
    /// Says it, and how the verb ends.
    pub(crate) fn print(&self, output: Output, slot: Slot, what: &str) -> Exit {
        match self {
            Self::Written => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`; {CAUTION}nobody was asked{CAUTION:#} whether Envoy took it: `--admin` does"
                ));
            }
            Self::Running { vms: Some(vms) } => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`: all {vms} VMs run it"
                ));
            }
            Self::Running { vms: None } => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`: Envoy has taken it"
                ));
            }
            Self::Unconfirmed { reason } => {
                output.error(&format!("{what} in slot `{slot}`: {reason}"));
                output
                    .error("its files are written; look at Envoy before anything else is shipped");
                return Exit::Failed;
            }
            Self::Undone { reason } => {
                output.error(&format!("{what} in slot `{slot}`: {reason}"));
                output.error("what was mounted before is mounted again");
                return Exit::Failed;
            }
        }
        Exit::Done
    }
}
