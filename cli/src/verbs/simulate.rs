//! `tidegate simulate POLICY --log FILE… | --load SPEC`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use tidegate_core::policy::Policy;

use crate::exit::Exit;
use crate::output::Output;
use crate::policy_file;
use crate::simulate::{self, Field, Fields, Logs, Meta, Source, Spec};

/// `tidegate simulate POLICY --log FILE… | --load SPEC`.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// The policy: its file, its folder, or a packed module
    policy: PathBuf,
    /// Access logs, one JSON object on each line, played side by side; `-` is standard input
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "load", conflicts_with = "load")]
    log: Vec<PathBuf>,
    /// A load to generate: the document itself, or `@FILE`; several run side by side
    #[arg(long, value_name = "SPEC")]
    load: Vec<String>,
    /// Another policy, to say where the two differ
    #[arg(long, value_name = "OTHER")]
    against: Option<PathBuf>,
    /// Where a value stands in the log, such as `account=user.id` or `header:x-plan=/headers/x-plan`
    #[arg(long, value_name = "NAME=KEY", conflicts_with = "load")]
    field: Vec<Field>,
    /// For how long to wait for requests that started before those already read
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration, conflicts_with = "load")]
    reorder: Duration,
    /// How many lines may be unreadable, or behind later ones, in percent, before nothing is believed
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    unreadable: f64,
    /// What share of callers is to be let through, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 99.0, value_parser = percent)]
    through: f64,
    /// How many callers to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write the report as one HTML file too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the generated load as a log too
    #[arg(long, value_name = "FILE", requires = "load", conflicts_with = "log")]
    emit_log: Option<PathBuf>,
}

impl Simulate {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let Some(policy) = policy(&self.policy, *output)? else {
            return Ok(Exit::Failed);
        };
        let against = match &self.against {
            None => None,
            Some(path) => match self::policy(path, *output)? {
                Some(policy) => Some(policy),
                None => return Ok(Exit::Failed),
            },
        };
        let (source, from) = self.source()?;
        let (stage, fields, read) = simulate::run(&source, policy, against)?;
        let meta = Meta {
            file: &self.policy,
            other: self.against.as_deref(),
            from,
            generated: matches!(source, Source::Load { .. }),
            top: self.top,
            through: self.through,
        };
        let report = simulate::build(&stage, &fields, read, &meta);
        if let Some(fault) = simulate::unbelievable(&report, self.unreadable) {
            output.error(&fault);
            simulate::text::unreadable(&report, *output);
            return Ok(Exit::Failed);
        }
        if let Some(file) = &self.html {
            let page = simulate::html::page(&report)?;
            fs::write(file, page)
                .with_context(|| format!("`{}` cannot be written", file.display()))?;
        }
        simulate::text::print(&report, *output);
        output.json(&report)?;
        Ok(Exit::Done)
    }

    /// What is to be played, and what it is called.
    fn source(&self) -> Result<(Source, Vec<String>)> {
        if self.load.is_empty() {
            let logs = Logs {
                files: self.log.clone(),
                fields: Fields::new(&self.field)?,
                window: u64::try_from(self.reorder.as_nanos()).unwrap_or(u64::MAX),
            };
            let names = self.log.iter().map(|file| file.display().to_string());
            return Ok((Source::Logs(logs), names.collect()));
        }
        let specs = self
            .load
            .iter()
            .map(|spec| Spec::read(spec))
            .collect::<Result<Vec<_>>>()?;
        let names = self.load.iter().zip(&specs).map(|(argument, spec)| {
            if spec.load.is_empty() {
                argument.clone()
            } else {
                spec.load.clone()
            }
        });
        let names = names.collect();
        let emit = self.emit_log.clone();
        Ok((Source::Load { specs, emit }, names))
    }
}

/// The policy of a file; `None`: it has mistakes, which have been told.
fn policy(path: &Path, output: Output) -> Result<Option<Policy>> {
    let held = policy_file::held(path)?;
    Ok(match Policy::parse(&held.document) {
        Ok(policy) => Some(held.hold(policy)),
        Err(mistakes) => {
            for mistake in mistakes {
                output.error(&format!("{}: {mistake}", path.display()));
            }
            None
        }
    })
}

fn percent(text: &str) -> Result<f64> {
    let percent: Option<f64> = text.parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| anyhow!("`{text}` is not a share; write 0 to 100"))
}
