//! A folder with a policy and an engine of a few lines, and the tool run in it.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A policy that packs.
pub(crate) const POLICY: &str = r#"{
  "policy": "shop", "version": "2026-11-30.1",
  "limits": {"address": {"per": ["address"], "rate": "60/min", "burst": 2}},
  "always": ["address"]
}
"#;

/// The name of the file that is packed.
pub(crate) const PACKED: &str = "shop.wasm";

pub(crate) struct Stand(TempDir);

impl Stand {
    pub(crate) fn new() -> Self {
        let stand = Self(tempfile::tempdir().unwrap());
        stand.write("policy.json", POLICY);
        stand.write("engine.wasm", engine(include_str!("engine.wat")));
        stand
    }

    /// With a module packed in it.
    pub(crate) fn packed() -> Self {
        let stand = Self::new();
        let done = stand.pack(&[]);
        assert!(done.status.success(), "{done:?}");
        stand
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.at(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        tool.current_dir(self.0.path()).args(arguments);
        tool.output().unwrap()
    }

    /// Packs the policy, with these arguments more.
    pub(crate) fn pack(&self, more: &[&str]) -> Output {
        let usual = ["pack", ".", "-o", PACKED, "--engine", "engine.wasm"];
        self.run(&[&usual, more].concat())
    }
}

pub(crate) fn engine(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
pub(crate) fn fails(output: &Output, status: i32, saying: &str) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(errors(output).contains(saying), "{}", errors(output));
    assert!(output.stdout.is_empty(), "{output:?}");
}
