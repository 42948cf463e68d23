//! Policies as they lie in files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The name of a policy in its folder.
pub(crate) const POLICY: &str = "policy.json";

/// The file that `path` means: itself, or the `policy.json` of a folder.
pub(crate) fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(POLICY)
    } else {
        path.to_owned()
    }
}

/// Reads a file.
///
/// # Errors
/// Where it cannot be read; the message has its path.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))
}

/// The policy document that `path` means: a file of JSON, or the `policy.json` of a folder.
///
/// # Errors
/// Where it cannot be read; the message has its path.
pub(crate) fn document(path: &Path) -> Result<Vec<u8>> {
    read(&file(path))
}
