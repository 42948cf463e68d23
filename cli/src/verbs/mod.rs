//! The verbs, a file each.

mod completions;
mod schema;
mod simulate;

use anyhow::Result;
use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Replay an access log or a generated load through a policy
    Simulate(Box<simulate::Simulate>),
    /// Print the JSON Schema of policy documents
    Schema(schema::Schema),
    /// Print the completions of a shell
    Completions(completions::Completions),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// What kept it from being done, for [`Exit::Unable`].
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        match self {
            Self::Simulate(verb) => verb.run(output),
            Self::Schema(verb) => verb.run(output),
            Self::Completions(verb) => verb.run(output),
        }
    }
}
