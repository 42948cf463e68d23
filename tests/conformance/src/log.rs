//! What `cargo test` says, read for what became of each test.

use std::collections::HashMap;

use anstream::adapter::strip_str;
use serde::Serialize;

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Passed,
    Ignored,
    Failed,
}

/// As it stands in the table; `None`: it did not run.
pub(crate) const fn shown(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Passed) => "passed",
        Some(Outcome::Ignored) => "ignored",
        Some(Outcome::Failed) => "FAILED",
        None => "did not run",
    }
}

/// What became of tests, by the file name of their program and their own; of several runs the worst.
#[derive(Debug, Default)]
pub(crate) struct Outcomes(HashMap<(String, String), Outcome>);

impl Outcomes {
    pub(crate) fn get(&self, program: &str, test: &str) -> Option<Outcome> {
        let key = (program.to_owned(), test.to_owned());
        self.0.get(&key).copied()
    }

    /// Adds what a log says of one run or several. What tests themselves print is not looked at: only the lines between the
    /// count of a program's tests and what follows the last of them.
    pub(crate) fn read(&mut self, log: &str) {
        let log = strip_str(log).to_string();
        let mut program = None;
        let mut listing = false;
        for line in log.lines() {
            if let Some(found) = running(line) {
                (program, listing) = (Some(found), false);
            } else if let Some(count) = line.strip_prefix("running ") {
                listing = count.ends_with(" test") || count.ends_with(" tests");
            } else if line == "successes:"
                || line == "failures:"
                || line.starts_with("test result:")
            {
                listing = false;
            } else if listing
                && let Some(program) = program
                && let Some((test, outcome)) = result(line)
            {
                let known = self
                    .0
                    .entry((program.to_owned(), test.to_owned()))
                    .or_insert(outcome);
                *known = outcome.max(*known);
            }
        }
    }
}

/// The file name of a program whose tests follow: `Running tests/x.rs (target/debug/deps/x-0123)`.
fn running(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("Running ")?;
    let (_, path) = line.strip_suffix(')')?.rsplit_once(" (")?;
    path.rsplit(['/', '\\']).next()
}

/// A test and what became of it: `test keys::a1_x ... ok`.
fn result(line: &str) -> Option<(&str, Outcome)> {
    let (test, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let test = test.strip_suffix(" - should panic").unwrap_or(test);
    let outcome = match outcome.split([',', ' ', ':']).next()? {
        "ok" => Outcome::Passed,
        "ignored" => Outcome::Ignored,
        "FAILED" => Outcome::Failed,
        _ => return None,
    };
    Some((test, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "    Finished `test` profile\n     \u{1b}[1m\u{1b}[32mRunning\u{1b}[0m unittests src/lib.rs (target/debug/deps/core-01)\n\
        \nrunning 4 tests\ntest a::one ... ok\ntest two ... FAILED\ntest three ... ignored, takes minutes\n\
        test four has been running for over 60 seconds\ntest four - should panic ... ok\n\nsuccesses:\n\n---- a::one stdout ----\n\
        test forged ... ok\nrunning fast\ntest forged ... ok\n\nfailures:\n    two\n\ntest result: FAILED. 2 passed\n\n\
        \u{20}    Running tests/other.rs (/a b/target/debug/deps/other-02)\n\nrunning 1 test\ntest one ... ok\n";

    #[test]
    fn results_are_those_of_the_program_that_ran_them() {
        let mut outcomes = Outcomes::default();
        outcomes.read(LOG);
        assert_eq!(outcomes.get("core-01", "a::one"), Some(Outcome::Passed));
        assert_eq!(outcomes.get("core-01", "two"), Some(Outcome::Failed));
        assert_eq!(outcomes.get("core-01", "three"), Some(Outcome::Ignored));
        assert_eq!(outcomes.get("core-01", "four"), Some(Outcome::Passed));
        assert_eq!(outcomes.get("other-02", "one"), Some(Outcome::Passed));
        for (program, test) in [
            ("core-01", "forged"),
            ("other-02", "two"),
            ("core-01", "one"),
        ] {
            assert_eq!(outcomes.get(program, test), None, "{program} {test}");
        }
    }

    #[test]
    fn of_two_runs_the_worse_counts() {
        for (first, second) in [("ok", "FAILED"), ("FAILED", "ok")] {
            let mut outcomes = Outcomes::default();
            for said in [first, second] {
                let log = format!("Running x (d/x-1)\nrunning 1 test\ntest t ... {said}\n");
                outcomes.read(&log);
            }
            assert_eq!(outcomes.get("x-1", "t"), Some(Outcome::Failed));
        }
    }
}
