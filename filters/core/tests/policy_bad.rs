//! Every mistake that a document can have, with the exact words by which its author learns of it.
//!
//! `tests/bad/NAME.json` is a document, `tests/bad/NAME.txt` its mistakes, one a line. `UPDATE_BAD=1` rewrites
//! the latter; read the difference before it is kept.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_core::policy::Policy;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

fn names(extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|other| other == extension))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

fn mistakes(text: &[u8]) -> String {
    let mistakes = Policy::parse(text).expect_err("the document has a mistake");
    mistakes
        .iter()
        .map(|mistake| format!("{mistake}\n"))
        .collect()
}

#[test]
fn each_mistake_has_its_words() {
    let update = std::env::var_os("UPDATE_BAD").is_some();
    let documents = names("json");
    assert!(documents.len() > 50);
    if !update {
        assert_eq!(
            documents,
            names("txt"),
            "each document has a list of its mistakes beside it"
        );
    }
    let mut differences = String::new();
    for name in &documents {
        let text = fs::read(folder().join(format!("{name}.json"))).unwrap();
        let found = mistakes(&text);
        let list = folder().join(format!("{name}.txt"));
        if update {
            fs::write(&list, &found).unwrap();
        }
        let expected = fs::read_to_string(&list).unwrap();
        if found != expected {
            let lines = |text: &str, sign: char| -> String {
                text.lines()
                    .map(|line| format!("  {sign} {line}\n"))
                    .collect()
            };
            differences.push_str(&format!(
                "{name}:\n{}{}",
                lines(&expected, '-'),
                lines(&found, '+')
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "expected (-) and found (+) differ:\n{differences}"
    );
    println!("{} documents", documents.len());
}

/// B31: what stands in `RateLimit` and `RateLimit-Policy` is an Integer of structured fields, with 15 digits at most.
#[test]
fn b31_numbers_that_no_structured_field_holds_are_mistakes() {
    let with = |rate: &str, burst: u64, plan: u64, cost: u64| {
        let limit = serde_json::json!({"per": ["account"], "rate": rate, "burst": burst,
            "plans": {"paid": {"rate": rate, "burst": plan}}});
        let document = serde_json::json!({"policy": "p", "version": "1",
            "identity": {"account": [{"header": "x-account"}], "plan": [{"header": "x-plan"}]},
            "limits": {"a": limit}, "routes": [{"name": "r", "limits": ["a"], "cost": cost}]});
        Policy::parse(document.to_string().as_bytes()).map(drop)
    };
    const MOST: u64 = 999_999_999_999_999;
    let fast = "1000000/s";
    assert_eq!(with(fast, MOST / 1_000, MOST / 1_000, 1), Ok(()));
    for (rate, burst, plan, cost, place) in [
        (fast, MOST + 1, 5, 1, "$.limits.a.burst"),
        (fast, 5, MOST + 1, 1, "$.limits.a.plans.paid.burst"),
        (fast, 5, 5, MOST + 1, "$.routes[0].cost"),
        // The time in which it fills would be longer than its window can say.
        ("1/day", MOST, 5, 1, "$.limits.a.burst"),
    ] {
        let mistakes = with(rate, burst, plan, cost).unwrap_err();
        let found = mistakes.iter().any(|mistake| mistake.path == place);
        assert!(found, "{place}: {mistakes:?}");
    }
}

#[test]
fn messages_keep_the_house_style() {
    for name in names("txt") {
        let text = fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap();
        assert!(!text.is_empty(), "{name}");
        for line in text.lines() {
            let (path, message) = line.split_once("`: ").expect(line);
            assert!(path.starts_with("`$"), "{name}: {line}");
            assert!(!message.ends_with('.'), "{name}: {line}");
            let first = message.chars().next().unwrap();
            assert!(
                !first.is_uppercase() || message.starts_with("JSON"),
                "{name}: {line}"
            );
            for word in [
                "Option",
                "Vec",
                "u64",
                "String",
                "struct",
                "enum",
                "deserialize",
            ] {
                assert!(!message.contains(word), "{name}: {line}");
            }
        }
    }
}

#[test]
fn a_document_above_a_mebibyte_is_not_read() {
    let text = " ".repeat(1024 * 1024 + 1);
    assert_eq!(
        mistakes(text.as_bytes()),
        "`$`: the document has 1048577 bytes; at most 1048576 are read\n"
    );
}

#[test]
fn bytes_that_are_not_text_are_no_document() {
    assert_eq!(
        mistakes(b"{\"policy\": \"\xff\"}"),
        "`$`: cannot be read as JSON: invalid unicode code point at line 1 column 13\n"
    );
}

#[test]
fn a_document_of_nothing_but_mistakes_is_not_listed_without_end() {
    let keys: Vec<String> = (0..5_000)
        .map(|index| format!("\"key-{index}\": 1"))
        .collect();
    let text = format!("{{{}}}", keys.join(","));
    assert_eq!(mistakes(text.as_bytes()).lines().count(), 256);
}

#[test]
fn more_limits_and_routes_than_a_policy_holds_are_refused() {
    let limits: Vec<String> = (0..65)
        .map(|index| format!("\"limit-{index}\": {{\"per\": [\"address\"], \"rate\": \"1/s\"}}"))
        .collect();
    let routes: Vec<String> = (0..513)
        .map(|index| format!("{{\"name\": \"route-{index}\"}}"))
        .collect();
    let text = format!(
        r#"{{"policy": "p", "version": "1", "limits": {{{}}}, "routes": [{}]}}"#,
        limits.join(","),
        routes.join(",")
    );
    assert_eq!(
        mistakes(text.as_bytes()),
        "`$.limits`: 65 limits are too many; write at most 64\n\
         `$.routes`: 513 routes are too many; write at most 512\n"
    );
}
