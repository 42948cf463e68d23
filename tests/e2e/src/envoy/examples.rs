//! The configurations that are there to copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files under `envoy/` whose names end in `.EXTENSION`, sorted.
///
/// # Errors
///
/// A folder cannot be read.
pub fn examples(extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(&crate::repo().join("envoy"), extension, &mut found)?;
    found.sort();
    Ok(found)
}

/// Those of them that Envoy takes: beside them lie files for other programs.
///
/// # Errors
///
/// A folder or file cannot be read.
pub fn configurations() -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in examples("yaml")? {
        // Parts of a configuration, in objects of Kubernetes, have it further in.
        let text = fs::read_to_string(&file)?;
        if text.lines().any(|line| line == "static_resources:") {
            found.push(file);
        }
    }
    Ok(found)
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, extension, found)?;
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    Ok(())
}
