//! Policies as they lie in files.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use tidegate_core::policy::Policy;

use crate::packed::{self, ModeNow, Section};

/// The name of a policy in its folder.
pub const POLICY: &str = "policy.json";

/// The file that `path` means: itself, or the `policy.json` of a folder.
pub fn file(path: &Path) -> PathBuf {
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
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))
}

/// Reads the file of a module.
///
/// # Errors
/// It cannot be read, or is larger than a module may be.
pub fn read_module(path: &Path) -> Result<Vec<u8>> {
    let shown = || format!("`{}` cannot be read", path.display());
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(shown)?;
    file.take(packed::MAX_MODULE_BYTES.saturating_add(1))
        .read_to_end(&mut bytes)
        .with_context(shown)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|size| size <= packed::MAX_MODULE_BYTES);
    ensure!(
        fits,
        "`{}` is larger than 64 MiB, which no module is",
        path.display()
    );
    Ok(bytes)
}

/// The document of a policy: a JSON file, a folder with a `policy.json`, or a packed module.
///
/// # Errors
/// The file cannot be read, or is a module without a policy, or one that is not what it says.
pub fn document(path: &Path) -> Result<Vec<u8>> {
    Ok(held(path)?.document)
}

/// A policy's document, and what holds it back.
#[derive(Debug)]
pub struct Held {
    /// The document, byte for byte.
    pub document: Vec<u8>,
    /// What the module says that it is packed in.
    pub section: Option<Section>,
}

impl Held {
    /// Whether it is in a module that was packed to be in shadow, or says so itself there.
    pub fn is_in_shadow(&self) -> bool {
        let section = self.section.as_ref();
        section.is_some_and(|section| section.mode == ModeNow::Shadow)
    }

    /// The policy as it holds, where `policy` is what the document says.
    pub fn hold(&self, mut policy: Policy) -> Policy {
        if self.is_in_shadow() {
            policy.put_in_shadow();
        }
        policy
    }
}

/// The same as [`document`], and whether a module holds it in shadow.
///
/// # Errors
/// As [`document`].
pub fn held(path: &Path) -> Result<Held> {
    let file = file(path);
    let document = read(&file)?;
    if packed::is_module(&document) {
        let (_, packed) = packed::open(&file)?;
        return Ok(Held {
            document: packed.document,
            section: Some(packed.section),
        });
    }
    Ok(Held {
        document,
        section: None,
    })
}

/// The file of a policy's cases, beside it: `policy.test.json` beside `policy.json`.
pub fn cases(policy: &Path) -> PathBuf {
    policy.with_extension("test.json")
}

/// Puts `bytes` at `path` by a rename, so that nobody ever reads half of them. Everybody may read it. Where a symbolic link is
/// there, the file that it leads to is replaced.
///
/// # Errors
/// It is there and no file, a device for one, which a rename would put an end to; or it cannot be written. What was there stays.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let shown = path.display();
    if path.exists() && !path.is_file() {
        bail!("`{shown}` is no file, and would be replaced; name a file");
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = || -> std::io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut next = tempfile::NamedTempFile::new_in(folder)?;
        next.write_all(bytes)?;
        // A temporary file is its owner's alone, and Envoy may run as somebody else.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            next.as_file()
                .set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        next.as_file().sync_all()?;
        next.persist(&path)?;
        Ok(())
    };
    write().with_context(|| format!("`{shown}` cannot be written"))
}
