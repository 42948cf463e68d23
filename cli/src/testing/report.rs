//! What came of cases.

use serde::Serialize;
use serde_json::{Map, Value};
use tidegate_core::cases::{Case, Expect, Failure};

use super::folder::Folder;
use crate::output::{BAD, GOOD, Output, count};

/// What came of all cases of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    filtered_out: usize,
    requests: usize,
    cases: Vec<Outcome>,
    /// Folders whose cases could not be run, and why.
    broken: Vec<Broken>,
}

#[derive(Debug, Serialize)]
struct Outcome {
    folder: String,
    case: String,
    ok: bool,
    requests: usize,
    failures: Vec<Wrong>,
}

#[derive(Debug, Serialize)]
struct Broken {
    folder: String,
    reasons: Vec<String>,
}

/// A step that went otherwise than expected.
#[derive(Debug, Serialize)]
struct Wrong {
    step: usize,
    time: u32,
    at_ms: u64,
    request: String,
    expected: Expect,
    found: Expect,
}

impl Report {
    /// Runs the cases whose folder and name contain `filter`, and prints each as it is done.
    pub(crate) fn run(folders: &[Folder], filter: Option<&str>, output: Output) -> Self {
        let mut report = Self::default();
        let chosen = |folder: &Folder, case: &Case| {
            let name = format!("{}: {}", folder.name, case.name);
            filter.is_none_or(|filter| name.contains(filter))
        };
        let running: usize = folders
            .iter()
            .filter_map(|folder| Some((folder, folder.content.as_ref().ok()?)))
            .map(|(folder, content)| {
                let cases = content.cases.iter();
                cases.filter(|case| chosen(folder, case)).count()
            })
            .sum();
        output.line(format!("\nrunning {}", count(running, "case")));
        for folder in folders {
            let content = match &folder.content {
                Ok(content) => content,
                Err(reasons) => {
                    report.broken(folder, reasons, output);
                    continue;
                }
            };
            for case in &content.cases {
                if !chosen(folder, case) {
                    report.filtered_out = report.filtered_out.saturating_add(1);
                    continue;
                }
                let (requests, failures) = content.run(case);
                report.ran(folder, case, requests, failures, output);
            }
        }
        report
    }

    fn broken(&mut self, folder: &Folder, reasons: &[String], output: Output) {
        let name = &folder.name;
        output.line(format!("test {name} ... {BAD}FAILED{BAD:#}"));
        self.broken.push(Broken {
            folder: name.clone(),
            reasons: reasons.to_vec(),
        });
    }

    fn ran(
        &mut self,
        folder: &Folder,
        case: &Case,
        requests: usize,
        failures: Vec<Failure>,
        output: Output,
    ) {
        let ok = failures.is_empty();
        let word = if ok {
            self.passed = self.passed.saturating_add(1);
            format!("{GOOD}ok{GOOD:#}")
        } else {
            self.failed = self.failed.saturating_add(1);
            format!("{BAD}FAILED{BAD:#}")
        };
        output.line(format!("test {}: {} ... {word}", folder.name, case.name));
        self.requests = self.requests.saturating_add(requests);
        self.cases.push(Outcome {
            folder: folder.name.clone(),
            case: case.name.clone(),
            ok,
            requests,
            failures: failures.into_iter().map(|f| Wrong::new(case, f)).collect(),
        });
    }

    /// Whether anything ran and nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.broken.is_empty()
    }

    /// Prints what failed, and how it went.
    pub(crate) fn summarise(&self, output: Output) -> anyhow::Result<()> {
        let failed: Vec<&Outcome> = self.cases.iter().filter(|case| !case.ok).collect();
        if !failed.is_empty() || !self.broken.is_empty() {
            output.line("\nfailures:");
        }
        for Broken { folder, reasons } in &self.broken {
            output.line(format!("\n---- {folder} ----"));
            for reason in reasons {
                output.line(reason);
            }
        }
        for outcome in failed {
            output.line(format!("\n---- {}: {} ----", outcome.folder, outcome.case));
            for wrong in &outcome.failures {
                wrong.print(output);
            }
        }
        let Self {
            passed,
            filtered_out,
            requests,
            broken,
            ..
        } = self;
        let failed = self.failed.saturating_add(broken.len());
        let word = if self.is_good() {
            format!("{GOOD}ok{GOOD:#}")
        } else {
            format!("{BAD}FAILED{BAD:#}")
        };
        let requests = count(*requests, "request");
        output.line(format!(
            "\ntest result: {word}. {passed} passed; {failed} failed; {filtered_out} filtered out; {requests}"
        ));
        output.json(self)?;
        if passed.saturating_add(failed) == 0 {
            output.error("nothing ran; write cases into a `policy.test.json` beside the `policy.json`, or choose others");
        }
        Ok(())
    }
}

impl Wrong {
    fn new(case: &Case, failure: Failure) -> Self {
        let Failure {
            case: _,
            step: (step, time),
            at_ms,
            expected,
            found,
        } = failure;
        let request = case.steps.get(step.saturating_sub(1)).map(|s| &s.request);
        Self {
            step,
            time,
            at_ms,
            request: request.map_or_else(String::new, |r| format!("{} {}", r.method, r.path)),
            expected,
            found,
        }
    }

    /// Prints what was expected, and what was found in its place.
    fn print(&self, output: Output) {
        let Self {
            step,
            time,
            at_ms,
            request,
            ..
        } = self;
        output.line(format!(
            "step {step}, time {time}, at {at_ms} ms: {request}"
        ));
        let members = |expect: &Expect| match serde_json::to_value(expect) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let (expected, found) = (members(&self.expected), members(&self.found));
        for (name, wanted) in &expected {
            let given = found.get(name).unwrap_or(&Value::Null);
            let same = wanted == given || name == "type" && text(given).ends_with(&text(wanted));
            if !same {
                output.line(format!(
                    "  {name}: expected {wanted}, found {}",
                    shown(given)
                ));
            }
        }
        // Why it was decided like this, where the case did not ask.
        for name in ["type", "violated", "route", "shadow"] {
            if let Some(given) = found.get(name)
                && !expected.contains_key(name)
                && *given != "none"
            {
                output.line(format!("  {name}: found {}", shown(given)));
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    }
}
