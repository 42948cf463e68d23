//! What is wrong with policies and with the Envoy configurations that mount them, and what their authors may not have
//! meant: all of it in one pass, each with its place in the file.

pub mod containment;
mod envoy;
mod finding;
mod position;
mod warnings;

use std::path::Path;

use tidegate_core::policy::{Checked, Mistake, Policy};

pub use self::envoy::envoys;
pub use self::finding::{Finding, Kind};
use self::position::Positions;

/// A policy that was looked at.
#[derive(Debug)]
pub struct Linted {
    /// What was found, in the order in which the file reads.
    pub findings: Vec<Finding>,
    /// The policy; `None` where it has mistakes.
    pub policy: Option<Policy>,
}

/// Looks at the text of a policy that lies in `file`.
pub fn policy(file: &Path, text: &[u8]) -> Linted {
    let positions = Positions::of_json(text);
    let (policy, mistakes, warnings) = match Policy::check(text) {
        Ok(Checked {
            policy,
            not_enforced,
        }) => {
            let warnings = warnings::all(&policy);
            let policy = not_enforced.is_empty().then_some(policy);
            (policy, not_enforced, warnings)
        }
        // Once more with the parts that are not enforced yet: Envoy would refuse them too.
        Err(mistakes) => (
            None,
            Policy::parse(text).err().unwrap_or(mistakes),
            Vec::new(),
        ),
    };
    let found = |kind, mistakes: Vec<Mistake>| {
        let positions = &positions;
        mistakes
            .into_iter()
            .map(move |mistake| Finding::new(file, positions, kind, mistake))
    };
    let mut findings: Vec<Finding> = found(Kind::Mistake, mistakes)
        .chain(found(Kind::Warning, warnings))
        .collect();
    findings.sort_by_key(|finding| (finding.line, finding.column));
    Linted { findings, policy }
}
