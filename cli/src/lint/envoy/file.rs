//! Files of an Envoy configuration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::yaml;
use crate::lint::finding::{Finding, Kind};
use crate::lint::position::Positions;
use crate::policy_file;

/// A file that was read.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) value: Value,
    pub(super) positions: Positions,
}

impl File {
    /// Reads a file; what is no YAML is a finding.
    pub(super) fn read(path: &Path) -> Result<Result<Self, Finding>> {
        let text = String::from_utf8(policy_file::read(path)?)
            .with_context(|| format!("`{}` is not text in UTF-8", path.display()))?;
        Ok(match yaml::read(&text) {
            Ok((value, positions)) => Ok(Self {
                path: path.to_owned(),
                value,
                positions,
            }),
            Err((message, position)) => Err(Finding {
                file: path.display().to_string(),
                line: position.line,
                column: position.column,
                path: "$".to_owned(),
                message: format!("not YAML: {message}"),
                kind: Kind::Mistake,
            }),
        })
    }

    /// Whether an Envoy is started with it; others hold resources that an Envoy is sent.
    pub(super) fn is_bootstrap(&self) -> bool {
        let keys = [
            "static_resources",
            "staticResources",
            "dynamic_resources",
            "dynamicResources",
            "admin",
        ];
        keys.iter().any(|key| self.value.get(key).is_some())
    }
}

/// The files that these paths mean: themselves, or what lies in a folder.
pub(super) fn paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let shown = path.display();
        let entries = fs::read_dir(path).with_context(|| format!("`{shown}` cannot be read"))?;
        let mut inside = Vec::new();
        for entry in entries {
            let file = entry
                .with_context(|| format!("`{shown}` cannot be read"))?
                .path();
            let ending = file.extension().and_then(|ending| ending.to_str());
            if file.is_file() && matches!(ending, Some("yaml" | "yml" | "json")) {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            bail!("no file in `{shown}` ends in `.yaml`, `.yml` or `.json`");
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}
