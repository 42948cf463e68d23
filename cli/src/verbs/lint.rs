//! `tidegate lint POLICY… [--envoy CONFIG]`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::lint::{self, Finding, Kind};
use crate::output::{BAD, CAUTION, Output, count};
use crate::policy_file;

/// `tidegate lint POLICY… [--envoy CONFIG]`.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// A policy: a file, or a folder with a `policy.json`
    #[arg(required = true, value_name = "POLICY")]
    policies: Vec<PathBuf>,
    /// An Envoy configuration that mounts them: a bootstrap, an xDS resource file, or a folder of such files
    #[arg(long, value_name = "CONFIG")]
    envoy: Vec<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Report {
    files: usize,
    mistakes: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

impl Lint {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let mut findings = Vec::new();
        let mut policies = Vec::new();
        let mut files = self.policies.len();
        for path in &self.policies {
            let file = policy_file::file(path);
            let linted = lint::policy(&file, &policy_file::document(path)?);
            findings.extend(linted.findings);
            policies.extend(linted.policy);
        }
        if !self.envoy.is_empty() {
            let (read, found) = lint::envoys(&policies, &self.envoy)?;
            files = files.saturating_add(read);
            findings.extend(found);
        }
        let of = |kind| findings.iter().filter(|found| found.kind == kind).count();
        let (mistakes, warnings) = (of(Kind::Mistake), of(Kind::Warning));
        for finding in &findings {
            output.line(finding);
        }
        let report = Report {
            files,
            mistakes,
            warnings,
            findings,
        };
        output.json(&report)?;
        Ok(match (mistakes, warnings) {
            (0, 0) => Exit::Done,
            (0, warnings) => {
                let (warnings, files) = (count(warnings, "warning"), count(files, "file"));
                output.note(&format!("{CAUTION}{warnings}{CAUTION:#} in {files}"));
                Exit::Warned
            }
            (mistakes, warnings) => {
                let (mistakes, files) = (count(mistakes, "mistake"), count(files, "file"));
                let warnings = match warnings {
                    0 => String::new(),
                    some => format!(" and {}", count(some, "warning")),
                };
                output.note(&format!("{BAD}{mistakes}{BAD:#}{warnings} in {files}"));
                Exit::Failed
            }
        })
    }
}
