//! docs/deployment.md quotes the files, and names every one.

use std::fs;

use tidegate_e2e::envoy::examples;
use tidegate_e2e::repo;

fn page() -> String {
    fs::read_to_string(repo().join("docs/deployment.md")).unwrap()
}

/// Lines without what all of them are indented by.
fn dedented(lines: &[&str]) -> Vec<String> {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = filled
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let cut = |line: &&str| {
        line.get(indent.unwrap_or(0)..)
            .unwrap_or("")
            .trim_end()
            .to_owned()
    };
    lines.iter().map(cut).collect()
}

/// The YAML blocks of the page.
fn blocks(page: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "```yaml" {
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != "```")
                .collect();
            found.push(dedented(&block));
        }
    }
    found
}

#[test]
fn every_block_stands_in_a_file_to_copy() {
    let page = page();
    let blocks = blocks(&page);
    assert!(blocks.len() > 5, "{}", blocks.len());
    let files: Vec<String> = examples("yaml")
        .unwrap()
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    for block in blocks {
        let holds = |file: &String| {
            let lines: Vec<&str> = file.lines().collect();
            lines
                .windows(block.len())
                .any(|window| dedented(window) == block)
        };
        assert!(files.iter().any(holds), "in no file:\n{}", block.join("\n"));
    }
}

#[test]
fn every_file_for_kubernetes_is_named() {
    let page = page();
    let files = examples("yaml").unwrap();
    let mut named = 0;
    for file in files {
        let path = file.strip_prefix(repo()).unwrap().to_str().unwrap();
        if path.starts_with("envoy/istio/") || path.starts_with("envoy/envoy-gateway/") {
            assert!(page.contains(&format!("(../{path})")), "{path}");
            named += 1;
        }
    }
    assert!(named > 5, "{named}");
}
