//! docs/runbook.md has a section for each alert, and no other.

use std::collections::{BTreeMap, BTreeSet};

use super::{read, rules, text};

const FILE: &str = "docs/runbook.md";

/// The sections by what a link to them ends in.
fn sections(page: &str) -> BTreeMap<String, &str> {
    let parts = page.split("\n## ").skip(1);
    parts
        .map(|part| {
            let (title, text) = part.split_once('\n').unwrap();
            (title.to_lowercase().replace(' ', "-"), text)
        })
        .collect()
}

#[test]
fn each_alert_links_to_its_section() {
    let page = read(FILE);
    let sections = sections(&page);
    let mut linked = BTreeSet::new();
    for rule in rules::rules() {
        let Some(name) = rule["alert"].as_str() else {
            continue;
        };
        let url = text(&rule["annotations"], "runbook_url");
        let (file, anchor) = url.split_once('#').unwrap();
        assert_eq!(file, FILE, "{name}");
        let section = sections
            .get(anchor)
            .unwrap_or_else(|| panic!("{name}: no section for `{url}`"));
        let severity = text(&rule["labels"], "severity");
        assert!(
            section.contains(&format!("`{name}` ({severity})")),
            "{name} is not in the section `{anchor}`"
        );
        assert!(
            section.contains("**Look first**"),
            "`{anchor}` does not say what to look at first"
        );
        linked.insert(anchor.to_owned());
    }
    let there: BTreeSet<String> = sections.into_keys().collect();
    assert_eq!(there, linked);
}
