//! What the pages about the command line and about cases say, held to the tool.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{root, run, run_in, write};
use tidegate_core::cases::Cases;

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// The blocks of a page in this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// Runs a line of shell from the root of the repository, with the tool at hand.
fn shell(line: &str) -> (String, i32) {
    let tool = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("({line}) 2>&1")])
        .current_dir(root())
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text, output.status.code().unwrap())
}

/// Whether `found` is what a page shows; a line `…` stands for any lines.
fn agrees(shown: &[&str], found: &[&str]) -> bool {
    match (shown.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=found.len()).any(|skip| agrees(rest, &found[skip..])),
        (Some((one, shown)), Some((other, found))) => one == other && agrees(shown, found),
        _ => false,
    }
}

#[test]
fn what_the_pages_show_is_what_is_printed() {
    let mut commands = 0;
    for name in ["cli.md", "testing.md"] {
        let page = page(name);
        for block in blocks(&page, "console") {
            let mut status = 0;
            for part in block.split("$ ").skip(1) {
                let mut lines = part.lines();
                let command = lines.next().unwrap();
                let shown: Vec<&str> = lines.map(str::trim_end).collect();
                if command == "echo $?" {
                    assert_eq!(shown, [status.to_string()], "{name}: {part}");
                    continue;
                }
                let (found, ended) = shell(command);
                status = ended;
                let found: Vec<&str> = found.lines().map(str::trim_end).collect();
                assert!(
                    agrees(&shown, &found),
                    "{name}: `{command}` prints\n{}",
                    found.join("\n")
                );
                commands += 1;
            }
        }
    }
    assert!(commands >= 6, "{commands}");
}

/// The words of a help text that are verbs.
fn verbs() -> Vec<String> {
    let help = run(&["--help"]).out;
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let verbs = rest.lines().take_while(|line| !line.is_empty());
    verbs
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|verb| verb != "help")
        .collect()
}

#[test]
fn every_verb_and_every_flag_is_on_the_page() {
    let page = page("cli.md");
    let verbs = verbs();
    assert!(verbs.len() >= 6, "{verbs:?}");
    for verb in verbs {
        let heading = format!("## `tidegate {verb}`\n");
        let (_, rest) = page
            .split_once(&heading)
            .unwrap_or_else(|| panic!("no `{heading}`"));
        let section = rest.split("\n## ").next().unwrap();
        let help = run(&[&verb, "--help"]).out;
        let flags: BTreeSet<&str> = help
            .split_whitespace()
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .map(|word| {
                word.trim_matches(|char: char| !char.is_ascii_alphanumeric() && char != '-')
            })
            .filter(|flag| !["--help", "--version", "--format"].contains(flag))
            .collect();
        for flag in flags {
            assert!(
                section.contains(&format!("`{flag}")),
                "`tidegate {verb}` has `{flag}`"
            );
        }
    }
}

#[test]
fn the_example_of_cases_passes() {
    let page = page("testing.md");
    let [policy, cases] = blocks(&page, "json")[..] else {
        panic!("a policy and its cases");
    };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), policy, Some(cases));
    let ran = run_in(folder.path(), &["test"]);
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(ran.out.contains("3 passed"), "{}", ran.out);
    let ran = run_in(folder.path(), &["lint", "."]);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
}

/// The keys that a part of the cases takes, as its reader names them where it refuses another.
fn keys(cases: &str) -> Vec<String> {
    let refused = Cases::parse(cases.as_bytes()).unwrap_err();
    let (_, expected) = refused.split_once(", expected ").unwrap();
    let (expected, _) = expected.split_once(" at line").unwrap();
    expected
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_key_of_a_case_is_on_the_page() {
    let page = page("testing.md");
    let step = |inside: &str| format!(r#"{{"cases": [{{"name": "c", "steps": [{{{inside}}}]}}]}}"#);
    for (section, cases) in [
        ("A case", r#"{"cases": [{"none": 1}]}"#.to_owned()),
        ("A step", step(r#""none": 1"#)),
        ("A request", step(r#""request": {"none": 1}"#)),
        ("An answer of the origin", step(r#""answer": {"none": 1}"#)),
        ("What is expected", step(r#""expect": {"none": 1}"#)),
    ] {
        let (_, rest) = page.split_once(&format!("## {section}\n")).unwrap();
        let table = rest.split("\n## ").next().unwrap();
        let rows: BTreeSet<String> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .map(str::to_owned)
            .collect();
        let keys: BTreeSet<String> = keys(&cases).into_iter().collect();
        assert!(keys.len() > 1, "{keys:?}");
        assert_eq!(rows, keys, "{section}");
    }
}
