//! The engine that policies are packed into: the one inside this tool, or a file.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Result, bail};

use super::Digest;
use crate::policy_file;

/// The engine that the build put in; empty if it put in none.
static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine.wasm"));

/// An engine.
pub struct Engine {
    /// Its file.
    pub bytes: Cow<'static, [u8]>,
}

impl Engine {
    /// The engine of `file`, or else the one inside this tool.
    ///
    /// # Errors
    /// The file cannot be read, or none was put into this tool.
    pub fn get(file: Option<&Path>) -> Result<Self> {
        if let Some(file) = file {
            let bytes = Cow::Owned(policy_file::read_module(file)?);
            return Ok(Self { bytes });
        }
        if EMBEDDED.is_empty() {
            bail!(
                "this `tidegate` was built without an engine; name one with `--engine FILE`, or build the tool by `make build`"
            );
        }
        let bytes = Cow::Borrowed(EMBEDDED);
        Ok(Self { bytes })
    }
}

/// The digest of the engine inside this tool, if there is one.
pub fn embedded_digest() -> Option<Digest> {
    (!EMBEDDED.is_empty()).then(|| Digest::of(EMBEDDED))
}
