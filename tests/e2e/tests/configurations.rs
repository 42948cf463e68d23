//! The configurations that are there to copy are ones that their servers take: Envoy's with the module in them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_e2e::cache::{self, Nginx, Varnish};
use tidegate_e2e::envoy::{configurations, default_module, examples, validate};

const MODULE: &str = "dist/tidegate.wasm";

fn read(files: &[PathBuf]) -> impl Iterator<Item = (String, String)> {
    let texts = files.iter().map(|f| fs::read_to_string(f).unwrap());
    files.iter().map(|f| f.display().to_string()).zip(texts)
}

#[test]
fn every_envoy_to_copy_is_valid_and_its_policy_too() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join(MODULE);
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::copy(default_module(), module).unwrap();
    discovered(folder.path());
    let files = configurations().unwrap();
    assert!(files.len() > 1, "{files:?}");
    let refused: Vec<String> = files
        .iter()
        .filter_map(|file| validate(file, folder.path()).err())
        .map(|error| format!("{error:#}"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Puts there what envoy/ecds/envoy.yaml discovers, with a policy shipped into it.
fn discovered(folder: &Path) {
    for file in ["candidate.json", "origin.json"] {
        let from = tidegate_e2e::repo().join("envoy/ecds").join(file);
        fs::copy(from, folder.join(file)).unwrap();
    }
    let policy = tidegate_e2e::repo().join("policies/first-limit");
    let policy = policy.to_str().unwrap();
    let tool = tidegate_e2e::tool::path().unwrap();
    let pack = ["pack", policy, "-o", "first.wasm", "--engine", MODULE];
    for arguments in [&pack[..], &["ship", "first.wasm", "--to", "."]] {
        let done = std::process::Command::new(&tool)
            .args(arguments)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}

#[test]
fn the_mounts_of_one_set_have_the_same_policy() {
    let mut sets: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut mounts = 0;
    let files = configurations().unwrap();
    for (file, text) in read(&files) {
        let documents = policies(&text);
        // Where policies are discovered there are none to copy.
        if documents.is_empty() && text.contains("config_discovery") {
            continue;
        }
        mounts += documents.len();
        let folder = Path::new(&file).parent().unwrap();
        // In a folder of its own lies a set; beside gate.yaml each file is one.
        let apart = folder.ends_with("envoy");
        let set = if apart { Path::new(&file) } else { folder };
        sets.entry(set.into()).or_default().extend(documents);
    }
    assert!(mounts > sets.len(), "{mounts} mounts in {sets:?}");
    for (set, documents) in sets {
        assert_eq!(documents.len(), 1, "{}: {documents:?}", set.display());
    }
}

#[test]
fn the_rules_for_labels_are_the_same_everywhere() {
    let files = examples("yaml").unwrap();
    let mut rules: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (file, text) in read(&files) {
        let lines = text.lines().map(str::trim);
        let of_ours = lines.filter(|line| line.starts_with(r"regex: '^wasmcustom"));
        let of_ours: Vec<String> = of_ours.map(str::to_owned).collect();
        if !of_ours.is_empty() {
            rules.entry(of_ours).or_default().push(file);
        }
    }
    assert_eq!(rules.len(), 1, "{rules:#?}");
}

/// The policy documents in a YAML file, without what they are indented by.
fn policies(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "value: |" {
            continue;
        }
        let indent = |line: &str| line.find(|c| c != ' ').unwrap_or_default();
        let inside = indent(line);
        let document = lines.by_ref().take_while(|line| indent(line) > inside);
        found.push(document.map(str::trim).collect());
    }
    found
}

#[test]
fn every_vcl_to_copy_is_valid() {
    if cache::skipped(Varnish::PROGRAM) {
        return;
    }
    let files = examples("vcl").unwrap();
    assert!(!files.is_empty());
    for (file, text) in read(&files) {
        Varnish::check(&text).unwrap_or_else(|error| panic!("{file}: {error:#}"));
    }
}

#[test]
fn every_nginx_conf_to_copy_is_valid() {
    if cache::skipped(Nginx::PROGRAM) {
        return;
    }
    let files = examples("conf").unwrap();
    assert!(!files.is_empty());
    for (file, text) in read(&files) {
        Nginx::check(&text).unwrap_or_else(|error| panic!("{file}: {error:#}"));
    }
}
