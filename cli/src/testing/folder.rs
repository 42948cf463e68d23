//! A policy and its cases.

use std::path::{Path, PathBuf};

use tidegate_core::cases::{self, Case, Cases, Failure};
use tidegate_core::policy::Policy;

use crate::lint;
use crate::policy_file;

/// The name of the cases of a policy, beside it.
pub(crate) const CASES: &str = "policy.test.json";

/// A folder with cases.
#[derive(Debug)]
pub(crate) struct Folder {
    /// How it is shown.
    pub(crate) name: String,
    /// What is run; or why nothing is.
    pub(crate) content: Result<Content, Vec<String>>,
}

/// A policy with its cases.
#[derive(Debug)]
pub(crate) struct Content {
    policy: Policy,
    pub(crate) cases: Vec<Case>,
}

impl Folder {
    /// Reads a folder.
    pub(crate) fn read(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            content: content(path),
        }
    }
}

impl Content {
    /// Runs a case; returns how many requests it made, and what went otherwise than expected.
    pub(crate) fn run(&self, case: &Case) -> (usize, Vec<Failure>) {
        cases::run_case(&self.policy, case)
    }
}

fn content(path: &Path) -> Result<Content, Vec<String>> {
    let read = |file: &PathBuf| policy_file::read(file).map_err(|error| vec![format!("{error:#}")]);
    let (file, beside) = (path.join(policy_file::POLICY), path.join(CASES));
    let linted = lint::policy(&file, &read(&file)?);
    let Some(policy) = linted.policy else {
        return Err(linted.findings.iter().map(ToString::to_string).collect());
    };
    let cases = Cases::parse(&read(&beside)?)
        .map_err(|error| vec![format!("`{}`: {error}", beside.display())])?;
    Ok(Content {
        policy,
        cases: cases.cases,
    })
}
