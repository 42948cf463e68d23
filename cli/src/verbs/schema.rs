//! `tidegate schema`.

use anyhow::Result;
use clap::Args;
use tidegate_core::policy;

use crate::exit::Exit;
use crate::output::Output;

/// `tidegate schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        // The same in every format: it is JSON.
        output.result(serde_json::to_string_pretty(&policy::schema())?);
        Ok(Exit::Done)
    }
}
