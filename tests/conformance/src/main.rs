//! The conformance report: each statement with the tests that are named after it, and what they came to.

// Tests fail by panicking, in their helpers too.
#![cfg_attr(
    test,
    allow(
        clippy::panic,
        clippy::indexing_slicing,
        clippy::unwrap_used,
        reason = "a test that cannot go on fails"
    )
)]

mod log;
mod name;
mod page;
mod program;
mod report;
mod run;
mod statement;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::json;

use crate::log::Outcomes;
use crate::report::Row;

/// The page, from the root of the repository.
const PAGE: &str = "docs/conformance.md";

/// Runs the tests that are named after statements, prints what they came to, and writes docs/conformance.md.
#[derive(Debug, Parser)]
struct Options {
    /// Take results from what `cargo test` said in runs that were made already, and run nothing.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Do not write docs/conformance.md; fail if it is not what would be written.
    #[arg(long)]
    check: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// A table.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

fn main() -> ExitCode {
    match report(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("{error:#}");
            ExitCode::from(4)
        }
    }
}

/// Makes the report; whether all of it holds.
fn report(options: &Options) -> Result<bool> {
    let chapters = statement::chapters()?;
    let programs = program::all()?;
    let outcomes = if options.from.is_empty() {
        run::run(&programs)?
    } else {
        read(&options.from)?
    };
    let all: Vec<_> = chapters
        .iter()
        .map(|chapter| (chapter, report::rows(chapter, &programs, &outcomes)))
        .collect();
    let rows: Vec<_> = all.iter().flat_map(|(_, rows)| rows).collect();
    match options.format {
        Format::Text => anstream::println!("{}", table(&rows)),
        Format::Json => anstream::println!("{}", document(&rows)),
    }
    let mut faults: Vec<String> = rows
        .iter()
        .filter(|row| !row.result.holds())
        .map(|row| format!("{}: {}", row.statement.number, row.result.shown()))
        .collect();
    for (number, test) in report::astray(&chapters, &programs) {
        faults.push(format!(
            "`{test}` is named after `{number}`, which is no statement"
        ));
    }
    // A page is of a run that holds.
    if faults.is_empty() {
        faults.extend(keep(&page::page(&all), options.check)?);
    }
    for fault in &faults {
        anstream::eprintln!("{fault}");
    }
    Ok(faults.is_empty())
}

fn read(files: &[PathBuf]) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    for file in files {
        let log = fs::read(file).with_context(|| file.display().to_string())?;
        outcomes.read(&String::from_utf8_lossy(&log));
    }
    Ok(outcomes)
}

/// Writes the page, or only looks whether it is this one; what is wrong with it.
fn keep(page: &str, check: bool) -> Result<Option<String>> {
    let file = program::repository().join(PAGE);
    if !check {
        fs::write(&file, page).with_context(|| PAGE)?;
        return Ok(None);
    }
    let same = fs::read_to_string(&file).is_ok_and(|text| text == page);
    let fault = format!("`{PAGE}` is not what the tests make of it; run `make conformance`");
    Ok((!same).then_some(fault))
}

fn table(rows: &[&Row<'_>]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["statement", "level", "test", "in", "result"]);
    for row in rows {
        let statement = row.statement;
        let number = statement.number.to_string();
        let result = row.result.shown();
        let reason = statement.exception.as_ref().map(|found| &*found.reason);
        let mut first = Some((number, &*statement.level));
        if row.tests.is_empty() {
            let (number, level) = first.take().unwrap_or_default();
            table.add_row([&number, level, reason.unwrap_or_default(), "", result]);
        }
        for test in &row.tests {
            let (number, level) = first.take().unwrap_or_default();
            let said = match (row.result.holds(), level) {
                (true, "") => "",
                (true, _) => result,
                (false, _) => log::shown(test.outcome),
            };
            table.add_row([&number, level, test.name, test.source, said]);
        }
    }
    table
}

fn document(rows: &[&Row<'_>]) -> serde_json::Value {
    let row = |row: &&Row<'_>| {
        let statement = row.statement;
        let reason = statement.exception.as_ref().map(|found| &found.reason);
        json!({
            "statement": statement.number, "level": statement.level, "text": statement.text, "source": statement.source,
            "tests": row.tests, "result": row.result.shown(), "reason": reason, "holds": row.result.holds(),
        })
    };
    rows.iter().map(row).collect()
}
