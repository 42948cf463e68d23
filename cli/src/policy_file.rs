//! Policies as they lie in files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

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

/// The document that `path` means: a policy's JSON text, in a file or in a folder's `policy.json`.
///
/// # Errors
/// Where it cannot be read, or is no text of a policy.
pub(crate) fn document(path: &Path) -> Result<Vec<u8>> {
    let file = file(path);
    let bytes = read(&file)?;
    if bytes.starts_with(b"\0asm") {
        bail!(
            "`{}` is a wasm module; name the JSON document that it was packed from",
            file.display()
        );
    }
    Ok(bytes)
}
