//! `tidegate diff OLD NEW`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use tidegate_core::policy::Policy;

use crate::diff::{self, Change, Kind};
use crate::exit::Exit;
use crate::lint;
use crate::output::{BAD, CAUTION, GOOD, Output, count};
use crate::policy_file::{self, Held};

/// `tidegate diff OLD NEW`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The policy as it was: a file, or a folder with a `policy.json`
    old: PathBuf,
    /// The policy as it will be
    new: PathBuf,
    /// End with 1 if they differ
    #[arg(long)]
    exit_code: bool,
}

#[derive(Debug, Serialize)]
struct Report<'p> {
    old: Side<'p>,
    new: Side<'p>,
    different: bool,
    changes: Vec<Change>,
}

#[derive(Debug, Serialize)]
struct Side<'p> {
    policy: &'p str,
    version: &'p str,
}

impl Diff {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let (old_held, old) = read(&self.old)?;
        let (new_held, new) = read(&self.new)?;
        let engines = old_held.section.zip(new_held.section);
        let changes = diff::diff(&old, &new, engines.as_ref());
        let different = !changes.is_empty();
        output.line(if different {
            let changes = count(changes.len(), "difference");
            format!(
                "{} {} -> {} {}: {changes}",
                old.name, old.version, new.name, new.version
            )
        } else {
            format!("{} {}: no difference", old.name, old.version)
        });
        for Change {
            kind, text, path, ..
        } in &changes
        {
            let (style, word) = match kind {
                Kind::Gone => (BAD, "gone"),
                Kind::Looser => (CAUTION, "looser"),
                Kind::Stricter => (BAD, "stricter"),
                Kind::Changed => (CAUTION, "changed"),
                Kind::New => (GOOD, "new"),
            };
            output.line(format!("{text} ({style}{word}{style:#}) `{path}`"));
        }
        output.json(&Report {
            old: Side::of(&old),
            new: Side::of(&new),
            different,
            changes,
        })?;
        Ok(if different && self.exit_code {
            Exit::Failed
        } else {
            Exit::Done
        })
    }
}

impl<'p> Side<'p> {
    fn of(policy: &'p Policy) -> Self {
        Self {
            policy: &policy.name,
            version: &policy.version,
        }
    }
}

/// Reads a policy. One with mistakes decides nothing, and cannot be compared.
fn read(path: &Path) -> Result<(Held, Policy)> {
    let file = policy_file::file(path);
    let held = policy_file::held(path)?;
    let linted = lint::policy(&file, &held.document);
    match (linted.policy, linted.findings.first()) {
        (Some(policy), _) => {
            let policy = held.hold(policy);
            Ok((held, policy))
        }
        (None, Some(finding)) => bail!("{finding}"),
        (None, None) => bail!("`{}` is no policy", file.display()),
    }
}
