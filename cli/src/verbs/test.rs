//! `tidegate test [FOLDER…]`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use crate::testing::{self, Folder, Report};

/// `tidegate test [FOLDER…]`.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Where to look for `policy.test.json`, in subfolders too [default: the current folder]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Run only cases whose `FOLDER: NAME` contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run again whenever a policy or its cases change, until ctrl-c
    #[arg(long)]
    watch: bool,
}

impl Test {
    pub(crate) fn run(mut self, output: &Output) -> Result<Exit> {
        if self.folders.is_empty() {
            self.folders.push(PathBuf::from("."));
        }
        loop {
            // Looked at before it is read, so that no change is missed.
            let seen = testing::look(&self.folders);
            let good = self.once(*output)?;
            if !self.watch {
                return Ok(if good { Exit::Done } else { Exit::Failed });
            }
            output.note("watching; ctrl-c ends");
            testing::changed(&self.folders, &seen);
        }
    }

    fn once(&self, output: Output) -> Result<bool> {
        let folders: Vec<Folder> = testing::folders(&self.folders)?
            .iter()
            .map(|path| Folder::read(path))
            .collect();
        let report = Report::run(&folders, self.filter.as_deref(), output);
        report.summarise(output)?;
        Ok(report.is_good())
    }
}
