//! The rows of the reference's tables.

use serde_json::Value;

/// A key of the document.
#[derive(Debug)]
pub(crate) struct Row {
    /// Where it stands: `limits.NAME.rate`, `routes[].match.path`.
    pub(crate) path: String,
    pub(crate) cells: Cells,
}

/// What is said of it.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) kind: String,
    pub(crate) default: String,
    pub(crate) example: String,
    pub(crate) meaning: String,
}

/// Where the keys of each table stand, in the order of the tables.
const TABLES: [&str; 12] = [
    "",
    "canary.",
    "notify.",
    "identity.",
    "identity.tenant[].",
    "identity.address.",
    "limits.NAME.",
    "routes[].",
    "routes[].match.",
    "routes[].cache.",
    "routes[].idempotency.",
    "routes[].dedupe.",
];

/// Every row of every table of keys.
pub(crate) fn rows() -> Vec<Row> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let reference = std::fs::read_to_string(file).unwrap();
    let tables: Vec<&str> = reference
        .split("| key | type | default | example | |\n|---|---|---|---|---|\n")
        .skip(1)
        .collect();
    assert_eq!(tables.len(), TABLES.len(), "tables of keys");
    let mut rows = Vec::new();
    for (prefix, table) in TABLES.iter().zip(tables) {
        for line in table.lines().take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [key, kind, default, example, meaning] = cells.as_slice() else {
                panic!("{line}");
            };
            rows.push(Row {
                path: format!("{prefix}{}", key.trim_matches('`')),
                cells: Cells {
                    kind: (*kind).to_owned(),
                    default: (*default).to_owned(),
                    example: (*example).to_owned(),
                    meaning: (*meaning).to_owned(),
                },
            });
        }
    }
    rows
}

/// The JSON value in a cell, or a number as people write it.
pub(crate) fn value(cell: &str) -> Option<Value> {
    let text = cell.trim_matches('`');
    let number: String = text.chars().filter(|char| *char != ',').collect();
    if !number.is_empty() && number.chars().all(|char| char.is_ascii_digit()) {
        return serde_json::from_str(&number).ok();
    }
    serde_json::from_str(text).ok()
}
