//! The commands of docs/simulate.md run as they stand there, and print what stands behind them.

use std::fs;

use crate::run::{printed, repo, said, tidegate};

#[test]
fn every_command_of_the_page_runs_and_prints_what_it_says() {
    let text = fs::read_to_string(repo().join("docs/simulate.md")).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let mut commands = 0;
    let mut last = String::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for line in block.lines() {
            let Some(command) = line.strip_prefix("$ tidegate ") else {
                assert!(
                    last.contains(line.trim_end()),
                    "`{line}` is not in what was printed:\n{last}"
                );
                continue;
            };
            commands += 1;
            // What they write goes elsewhere.
            let command = command.replace("out/", &format!("{}/", folder.path().display()));
            let output = tidegate().args(words(&command)).output().unwrap();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{command}: {}",
                said(&output)
            );
            last = printed(&output);
        }
    }
    assert!(commands >= 4, "{commands}");
}

/// The words of a command; what is in single quotes is one.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_key_of_a_load_is_on_the_page() {
    let text = fs::read_to_string(repo().join("docs/simulate.md")).unwrap();
    for key in [
        "load", "start", "seed", "groups", "callers", "tenants", "tenant", "account", "plan",
        "address", "pick", "arrivals", "rate", "requests", "for", "at", "swing", "peak", "from",
        "to", "total", "burst", "every", "method", "path", "host", "cost", "status", "headers",
        "weight",
    ] {
        assert!(text.contains(&format!("| `{key}` |")), "{key}");
    }
}
