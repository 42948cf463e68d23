//! What has to hold of a run. Each check is a function of what happened; its tests are made-up histories in which it holds, and in which it
//! does not.

mod admission;
mod counted;
mod errors;
mod leaks;
#[cfg(test)]
mod made;
mod once;
mod passing;
mod well;

use std::fmt;

pub(crate) use counted::{Counted, decisions};
pub(crate) use well::{Health, Memory};

use crate::history::{Execution, Past, Told};
use crate::log::Log;
use crate::people::People;

/// The names of the invariants, as they are reported.
pub(crate) const NAMES: [&str; 8] = [
    once::NAME,
    leaks::NAME,
    admission::NAME,
    errors::NAME,
    passing::NAME,
    counted::NAME,
    well::NAME,
    well::MEMORY,
];

/// Something that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The invariant.
    pub(crate) invariant: &'static str,
    /// What happened.
    pub(crate) what: String,
    /// The requests that it happened to.
    pub(crate) requests: Vec<u64>,
}

/// What is known of a run when it is over.
pub(crate) struct Run<'a> {
    pub(crate) past: &'a Past,
    pub(crate) people: &'a People,
    pub(crate) counted: &'a Counted,
    pub(crate) health: &'a Health,
    pub(crate) memory: &'a Memory,
    pub(crate) log: &'a Log,
}

/// Everything that did not hold.
pub(crate) fn all(run: &Run<'_>) -> Vec<Broken> {
    [
        once::check(run.past),
        leaks::check(run.past, run.people),
        admission::check(run.past, run.people),
        errors::check(run.past, run.counted, run.log),
        passing::check(run.past),
        counted::check(run.past, run.counted),
        well::check(run.health),
        well::fits(run.memory),
    ]
    .concat()
}

impl Past {
    /// The request of an execution.
    pub(crate) fn of(&self, execution: &Execution) -> Option<&Told> {
        self.told.get(&execution.number)
    }

    /// A request and what became of it, for people.
    pub(crate) fn shown(&self, number: u64) -> String {
        let Some(told) = self.told.get(&number) else {
            return format!("{number}: not sent");
        };
        let executions = self.executions.iter().filter(|e| e.number == number);
        let executions: Vec<_> = executions.map(|e| format!("{e:?}")).collect();
        format!("{told:?} | {:?} | {executions:?}", self.ends.get(&number))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}
