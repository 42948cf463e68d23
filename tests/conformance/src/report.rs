//! What holds, by which tests.

use serde::Serialize;

use crate::log::{Outcome, Outcomes};
use crate::program::Program;
use crate::statement::{Chapter, Number, Statement, Verdict};

/// A statement with its tests and what they came to.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) tests: Vec<Shown<'a>>,
    pub(crate) result: Finding,
}

/// A test in a row.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    /// The name of its function.
    pub(crate) name: &'a str,
    /// Where it is written.
    pub(crate) source: &'a str,
    /// `None`: it did not run.
    pub(crate) outcome: Option<Outcome>,
}

/// What a row comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It has tests, and all of them passed.
    Passes,
    /// It is not held, and its statement says why.
    Excepted(Verdict),
    /// A test failed.
    Fails,
    /// A test did not run.
    DidNotRun,
    /// It has neither a test nor a reason.
    NoTest,
    /// It is said not to be applicable, and has tests.
    Contradicted,
}

impl Finding {
    /// As it stands in the table.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Excepted(verdict) => verdict.shown(),
            Self::Fails => "FAILS",
            Self::DidNotRun => "DID NOT RUN",
            Self::NoTest => "NO TEST",
            Self::Contradicted => "NOT APPLICABLE, YET TESTED",
        }
    }

    /// Whether a report may have it.
    pub(crate) const fn holds(self) -> bool {
        matches!(self, Self::Passes | Self::Excepted(_))
    }

    fn of(statement: &Statement, tests: &[Shown<'_>]) -> Self {
        let verdict = statement.exception.as_ref().map(|found| found.verdict);
        let any = |outcome| tests.iter().any(|test| test.outcome == outcome);
        match verdict {
            Some(Verdict::Inapplicable) if !tests.is_empty() => Self::Contradicted,
            _ if any(Some(Outcome::Failed)) => Self::Fails,
            _ if any(None) || any(Some(Outcome::Ignored)) => Self::DidNotRun,
            None | Some(Verdict::Partial) if tests.is_empty() => Self::NoTest,
            Some(verdict) => Self::Excepted(verdict),
            None => Self::Passes,
        }
    }
}

/// A row for each statement of a chapter.
pub(crate) fn rows<'a>(
    chapter: &'a Chapter,
    programs: &'a [Program],
    outcomes: &Outcomes,
) -> Vec<Row<'a>> {
    let row = |statement: &'a Statement| {
        let mut tests = Vec::new();
        for program in programs {
            let own = program.tests.iter();
            let own = own.filter(|test| test.numbers.contains(&statement.number));
            tests.extend(own.map(|test| Shown {
                name: test.function(),
                source: &test.source,
                outcome: outcomes.get(&program.file, &test.name),
            }));
        }
        tests.sort_by(|one, other| (one.source, one.name).cmp(&(other.source, other.name)));
        Row {
            statement,
            result: Finding::of(statement, &tests),
            tests,
        }
    };
    chapter.statements.iter().map(row).collect()
}

/// Tests that are named after statements that there are none of, with the number that is wrong.
pub(crate) fn astray<'a>(chapters: &[Chapter], programs: &'a [Program]) -> Vec<(Number, &'a str)> {
    let known: Vec<_> = chapters
        .iter()
        .flat_map(|chapter| &chapter.statements)
        .map(|statement| statement.number)
        .collect();
    let tests = programs.iter().flat_map(|program| &program.tests);
    tests
        .flat_map(|test| test.numbers.iter().map(|number| (*number, &*test.name)))
        .filter(|(number, _)| !known.contains(number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Test;

    fn chapter(exception: &str) -> Chapter {
        let text = format!(
            r#"{{"title": "t", "statements": [{{"number": "A1", "level": "MUST", "text": "t"{exception}}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn program(names: &[&str]) -> Program {
        let tests = names.iter().map(|name| Test {
            name: (*name).to_owned(),
            numbers: crate::name::numbers(name),
            source: "x.rs".to_owned(),
        });
        Program {
            arguments: Vec::new(),
            file: "x-1".to_owned(),
            tests: tests.collect(),
        }
    }

    fn found(exception: &str, names: &[&str], log: &str) -> Finding {
        let mut outcomes = Outcomes::default();
        outcomes.read(&format!("Running x (d/x-1)\nrunning 9 tests\n{log}"));
        let (chapter, programs) = (chapter(exception), [program(names)]);
        let rows = rows(&chapter, &programs, &outcomes);
        assert_eq!(rows.len(), 1);
        rows[0].result
    }

    const PARTIAL: &str = r#", "exception": {"verdict": "not everywhere", "reason": "r"}"#;
    const NOT_MET: &str = r#", "exception": {"verdict": "not met", "reason": "r"}"#;
    const NONE: &str = r#", "exception": {"verdict": "not applicable", "reason": "r"}"#;

    #[test]
    fn a_statement_holds_by_tests_that_ran_and_passed_or_by_a_reason() {
        let one = &["a1_x"][..];
        assert_eq!(found("", one, "test a1_x ... ok\n"), Finding::Passes);
        assert_eq!(found("", one, "test a1_x ... FAILED\n"), Finding::Fails);
        assert_eq!(
            found("", one, "test a1_x ... ignored\n"),
            Finding::DidNotRun
        );
        assert_eq!(found("", one, ""), Finding::DidNotRun);
        let two = &["a1_x", "a1_y"][..];
        assert_eq!(found("", two, "test a1_x ... ok\n"), Finding::DidNotRun);
        // Renamed away.
        assert_eq!(found("", &["x"], "test x ... ok\n"), Finding::NoTest);
        assert_eq!(found("", &["a2_x"], "test a2_x ... ok\n"), Finding::NoTest);
        // What holds somewhere has a test that shows it there.
        assert_eq!(found(PARTIAL, &[], ""), Finding::NoTest);
        assert_eq!(
            found(PARTIAL, one, "test a1_x ... ok\n"),
            Finding::Excepted(Verdict::Partial)
        );
        let excepted = |exception| found(exception, &[], "");
        assert_eq!(excepted(NOT_MET), Finding::Excepted(Verdict::Unmet));
        assert_eq!(excepted(NONE), Finding::Excepted(Verdict::Inapplicable));
        assert_eq!(
            found(NOT_MET, one, "test a1_x ... FAILED\n"),
            Finding::Fails
        );
        assert_eq!(
            found(NONE, one, "test a1_x ... ok\n"),
            Finding::Contradicted
        );
    }

    #[test]
    fn a_number_that_is_none_is_told() {
        let programs = [program(&["a1_a2_x", "a1_y"])];
        let astray = astray(&[chapter("")], &programs);
        let shown: Vec<_> = astray
            .iter()
            .map(|(number, test)| format!("{number} {test}"))
            .collect();
        assert_eq!(shown, ["A2 a1_a2_x"]);
    }
}
