//! `tidegate completions SHELL`.

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Arguments;
use crate::exit::Exit;
use crate::output::Output;

/// `tidegate completions SHELL`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell that they are for.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let mut command = Arguments::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "tidegate", &mut script);
        output.result(String::from_utf8_lossy(&script).trim_end());
        Ok(Exit::Done)
    }
}
