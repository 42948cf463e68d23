//! docs/conformance.md.

use std::fmt::Write as _;

use crate::report::{Finding, Row};
use crate::statement::{Chapter, Verdict};

const INTRODUCTION: &str = "\
# Conformance

What Tidegate is held to, statement by statement, and the tests that hold it. `make conformance` runs these tests, against a real Envoy
where they need one, and writes this page; it fails where a statement has neither a test nor a reason, where a test failed, and where one did not run.
Tests carry the numbers of their statements in their names, so a test that is renamed or taken away is missed here.

- **MUST**, **SHOULD** and **MAY** are the words of the standard that is cited: RFC 9110 (HTTP), 9111 (caching), 9211 (`Cache-Status`), 9213 (targeted cache control),
  9457 (problem details), 9651 (structured fields), 9875 (cache groups), 6585 (429), draft-ietf-httpapi-idempotency-key-header-07,
  draft-ietf-httpapi-ratelimit-headers-11. **P-MUST** and its like are this project's own, most of them drawn from faults that users of other projects reported.
- **passes**: every test named beside it ran and passed. **not everywhere**: so they did, and there is something that it does not hold with. **not applicable**: there is
  nothing that it could be about. **not done**: something that only should or may be. **not met**: something that must be, and is not. The last four say why; tests beside
  them show what happens instead.

";

/// The page.
pub(crate) fn page(chapters: &[(&Chapter, Vec<Row<'_>>)]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let rows = || chapters.iter().flat_map(|(_, rows)| rows);
    page.push_str("| result | statements |\n|---|---|\n");
    let verdicts = [
        Finding::Passes,
        Finding::Excepted(Verdict::Partial),
        Finding::Excepted(Verdict::Inapplicable),
        Finding::Excepted(Verdict::Undone),
        Finding::Excepted(Verdict::Unmet),
    ];
    for finding in verdicts {
        let some = rows().filter(|row| row.result == finding);
        let numbers: Vec<_> = some.map(|row| row.statement.number.to_string()).collect();
        let which = match finding {
            Finding::Passes => String::new(),
            _ if numbers.is_empty() => String::new(),
            _ => format!(": {}", numbers.join(", ")),
        };
        line(
            &mut page,
            &[finding.shown(), &format!("{}{which}", numbers.len())],
        );
    }
    for (chapter, rows) in chapters {
        let letter = rows.first().map_or(' ', |row| row.statement.number.letter);
        let _ = write!(page, "\n## {letter}. {}\n\n", chapter.title);
        page.push_str("| | level | statement | tests | result |\n|---|---|---|---|---|\n");
        for row in rows {
            self::row(&mut page, row);
        }
    }
    page
}

fn row(page: &mut String, row: &Row<'_>) {
    let statement = row.statement;
    let mut text = statement.text.clone();
    if let Some(source) = &statement.source {
        let _ = write!(text, " [{source}]");
    }
    let tests: Vec<_> = row
        .tests
        .iter()
        .map(|test| format!("[`{}`](../{})", test.name, test.source))
        .collect();
    let mut result = row.result.shown().to_owned();
    if let Some(exception) = &statement.exception {
        let _ = write!(result, ": {}", exception.reason);
    }
    if let Some(note) = &statement.note {
        let _ = write!(result, ". {note}");
    }
    let number = statement.number.to_string();
    line(
        page,
        &[
            &number,
            &statement.level,
            &text,
            &tests.join("<br>"),
            &result,
        ],
    );
}

/// A line of a table.
fn line(page: &mut String, cells: &[&str]) {
    page.push('|');
    for cell in cells {
        let _ = write!(page, " {} |", cell.replace('|', "\\|"));
    }
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Outcome;
    use crate::report::Shown;

    #[test]
    fn a_row_links_its_tests_and_says_why_it_has_none() {
        let text = r#"{"title": "Keys", "statements": [
            {"number": "A1", "level": "MUST", "text": "this | that", "source": "RFC 1 §2", "note": "Beside it"},
            {"number": "A2", "level": "P-MAY", "text": "more", "exception": {"verdict": "not done", "reason": "nobody asked"}}]}"#;
        let chapter: Chapter = serde_json::from_str(text).unwrap();
        let tests = vec![Shown {
            name: "a1_x",
            source: "tests/x.rs",
            outcome: Some(Outcome::Passed),
        }];
        let [one, two] = &chapter.statements[..] else {
            panic!("{chapter:?}");
        };
        let rows = vec![
            Row {
                statement: one,
                tests,
                result: Finding::Passes,
            },
            Row {
                statement: two,
                tests: Vec::new(),
                result: Finding::Excepted(Verdict::Undone),
            },
        ];
        let page = page(&[(&chapter, rows)]);
        for line in [
            "| passes | 1 |",
            "| not everywhere | 0 |",
            "| not done | 1: A2 |",
            "| not met | 0 |",
            "## A. Keys",
            "| A1 | MUST | this \\| that [RFC 1 §2] | [`a1_x`](../tests/x.rs) | passes. Beside it |",
            "| A2 | P-MAY | more |  | not done: nobody asked |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }
}
