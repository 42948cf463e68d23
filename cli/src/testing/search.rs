//! Folders that hold cases.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::folder::CASES;

/// Folders that hold no policies of their author, but may hold copies.
const PASSED_OVER: [&str; 3] = ["target", "node_modules", "dist"];

/// The folders in and under `roots` that hold cases, in order, none twice.
///
/// # Errors
/// Where a folder cannot be read.
pub(crate) fn folders(roots: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for root in roots {
        // A file stands for its folder.
        let folder = match root.parent() {
            Some(parent) if root.is_file() => parent,
            _ => root,
        };
        search(folder, &mut found)?;
    }
    for folder in &mut found {
        if let Ok(inside) = folder.strip_prefix(".")
            && inside != Path::new("")
        {
            *folder = inside.to_owned();
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn search(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let unread = || format!("`{}` cannot be read", folder.display());
    if folder.join(CASES).is_file() {
        found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).with_context(unread)? {
        let entry = entry.with_context(unread)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let passed = name.starts_with('.') || PASSED_OVER.contains(&name.as_ref());
        // Links are not followed, since they may lead back.
        if !passed && entry.file_type().with_context(unread)?.is_dir() {
            search(&entry.path(), found)?;
        }
    }
    Ok(())
}
