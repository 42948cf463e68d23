//! The verbs, a file each.

mod completions;
mod diff;
mod explain;
mod inspect;
mod lint;
mod pack;
mod rollback;
mod schema;
mod ship;
mod simulate;
mod test;
mod top;

use anyhow::Result;
use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Find every mistake of policies, and what their authors may not have meant
    Lint(lint::Lint),
    /// Run the cases that lie beside policies
    Test(test::Test),
    /// Say step by step what a policy makes of a request, and why
    Explain(explain::Explain),
    /// Replay an access log or a generated load through a policy
    Simulate(simulate::Simulate),
    /// Say which callers two policies decide about differently
    Diff(diff::Diff),
    /// Pack a policy and the engine into one module
    Pack(pack::Pack),
    /// Say what a module is and what is in it
    Inspect(inspect::Inspect),
    /// Mount a packed module in a running Envoy
    Ship(ship::Ship),
    /// Mount again what was mounted before
    Rollback(rollback::Rollback),
    /// Show who is refused most, live
    Top(top::Top),
    /// Print the JSON Schema of policy documents
    Schema(schema::Schema),
    /// Print the completions of a shell
    Completions(completions::Completions),
}

impl Verb {
    /// Whether it is there to change what an Envoy runs, and not to print.
    pub(crate) const fn changes(&self) -> bool {
        matches!(self, Self::Ship(_) | Self::Rollback(_))
    }

    /// Does it.
    ///
    /// # Errors
    /// What kept it from being done, for [`Exit::Unable`].
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        match self {
            Self::Lint(verb) => verb.run(output),
            Self::Test(verb) => verb.run(output),
            Self::Explain(verb) => verb.run(output),
            Self::Simulate(verb) => verb.run(output),
            Self::Diff(verb) => verb.run(output),
            Self::Pack(verb) => verb.run(output),
            Self::Inspect(verb) => verb.run(output),
            Self::Ship(verb) => verb.run(output),
            Self::Rollback(verb) => verb.run(output),
            Self::Top(verb) => verb.run(output),
            Self::Schema(verb) => verb.run(output),
            Self::Completions(verb) => verb.run(output),
        }
    }
}
