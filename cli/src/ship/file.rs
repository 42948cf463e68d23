//! Files of the folder, written in two steps: first the bytes, beside what is there, and then a rename. The second needs no
//! room on the disk, and so succeeds where it is full.

use std::fs::{self, Metadata, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::NamedTempFile;

use crate::policy_file;

/// Everybody may read a file that was not there before, for Envoy may run as somebody else.
const NEW: u32 = 0o644;

/// That anybody may read a file.
const FOR_ALL: u32 = 0o004;

/// Bytes that are on the disk already, to be put where others are.
#[derive(Debug)]
pub(super) struct Prepared {
    path: PathBuf,
    /// None: there is to be no file.
    next: Option<NamedTempFile>,
    put: bool,
}

impl Prepared {
    /// Writes bytes beside a file. They have its mode and its owner, if it is there.
    ///
    /// # Errors
    /// They cannot be written, or nobody but the owner may read the file, and we may not give it to him.
    pub(super) fn new(path: &Path, bytes: &[u8]) -> Result<Self> {
        let shown = || format!("`{}` cannot be written", path.display());
        let next = write(path, bytes).with_context(shown)?;
        match fs::metadata(path) {
            Ok(there) => keep(&next, &there, path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                next.as_file()
                    .set_permissions(Permissions::from_mode(NEW))
                    .with_context(shown)?;
            }
            Err(error) => return Err(error).with_context(shown),
        }
        Ok(Self {
            path: path.to_owned(),
            next: Some(next),
            put: false,
        })
    }

    /// What is there now, to be put there again.
    ///
    /// # Errors
    /// It cannot be read, or not be written a second time.
    pub(super) fn as_found(path: &Path) -> Result<Self> {
        if path.exists() {
            return Self::new(path, &policy_file::read(path)?);
        }
        Ok(Self {
            path: path.to_owned(),
            next: None,
            put: false,
        })
    }

    /// Puts it there; a second time it does nothing.
    ///
    /// # Errors
    /// It cannot be put there; it may be tried again.
    pub(super) fn put(&mut self) -> Result<()> {
        match &self.next {
            _ if self.put => {}
            Some(next) => fs::rename(next.path(), &self.path)
                .with_context(|| format!("`{}` cannot be written", self.path.display()))?,
            None if self.path.exists() => fs::remove_file(&self.path)
                .with_context(|| format!("`{}` cannot be removed", self.path.display()))?,
            None => {}
        }
        self.put = true;
        Ok(())
    }
}

/// Puts bytes where others are, with the mode and the owner of these.
///
/// # Errors
/// They cannot be written; what was there stays.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    Prepared::new(path, bytes)?.put()
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut next = tempfile::Builder::new()
        .prefix(".tidegate-")
        .tempfile_in(folder)?;
    next.write_all(bytes)?;
    next.as_file().sync_all()?;
    Ok(next)
}

/// Gives a file the owner and the mode of the one whose place it takes.
fn keep(next: &NamedTempFile, there: &Metadata, path: &Path) -> Result<()> {
    let shown = path.display();
    let ours = next
        .as_file()
        .metadata()
        .with_context(|| format!("`{shown}` cannot be written"))?;
    if (ours.uid(), ours.gid()) != (there.uid(), there.gid()) {
        let given = fchown(next.as_file(), Some(there.uid()), Some(there.gid()));
        // Whoever may read it anyway does not need to own it.
        ensure!(
            given.is_ok() || there.mode() & FOR_ALL != 0,
            "`{shown}` belongs to the user {} and not everybody may read it, and it cannot be given to him; run this as that user",
            there.uid()
        );
    }
    next.as_file()
        .set_permissions(there.permissions())
        .with_context(|| format!("`{shown}` cannot be written"))
}
