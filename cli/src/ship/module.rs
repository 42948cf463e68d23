//! A packed module that is to be shipped, or was.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use serde::{Deserialize, Serialize};
use tidegate_core::policy;

use super::Held;
use crate::packed::{self, Digest, ModeNow, Packed};

/// A packed module that is what it says.
#[derive(Debug)]
pub(crate) struct Module {
    /// The file.
    pub(crate) bytes: Vec<u8>,
    /// The policy's document.
    pub(crate) document: Vec<u8>,
    /// Who it is.
    pub(crate) identity: Identity,
    /// For how many of a hundred callers it is enforced, if nothing else is told.
    pub(crate) enforced: u8,
    /// It is in shadow, whatever is told.
    pub(crate) shadow: bool,
    /// Its policy says itself for which share of callers it holds.
    pub(crate) canary: bool,
    /// The policy keeps callers' copies apart.
    pub(crate) caches: bool,
}

/// What tells a module from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The policy's name.
    pub(crate) policy: String,
    /// The policy's version.
    pub(crate) version: String,
    /// The digest.
    pub(crate) digest: Digest,
}

impl Module {
    /// Reads one.
    ///
    /// # Errors
    /// It cannot be read, or is not what it says.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let (bytes, packed) = packed::open(file)?;
        let Packed { section, .. } = &packed;
        let policy = packed
            .policy()
            .with_context(|| format!("`{}`", file.display()))?;
        Ok(Self {
            identity: Identity {
                policy: section.policy.clone(),
                version: section.version.clone(),
                digest: packed.digest,
            },
            enforced: match section.mode {
                ModeNow::Enforce => policy.enforced_percent(),
                ModeNow::Shadow => 0,
            },
            shadow: section.mode == ModeNow::Shadow,
            canary: policy.canary.is_some(),
            caches: policy.caches(),
            document: packed.document,
            bytes,
        })
    }

    /// Checks that it takes what it is told when it is held so; Envoy would only say that it refused it.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) fn takes(&self, held: &Held) -> Result<()> {
        let packed = policy::Packed {
            document: self.document.clone(),
            shadow: self.shadow,
        };
        let told = held.text().unwrap_or_default();
        packed
            .policy(told.as_bytes())
            .map(drop)
            .map_err(|mistakes| {
                let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
                anyhow!(
                    "{} does not take `{told}`: {}",
                    self.identity,
                    lines.join("; ")
                )
            })
    }

    /// The digest of its file, engine included.
    pub(crate) fn sha256(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// The name of its file among others: no two modules share one.
    pub(crate) fn file_name(&self) -> String {
        let Identity {
            policy,
            version,
            digest,
        } = &self.identity;
        format!("{policy}-{version}-{}.wasm", digest.short())
    }

    /// For how many of a hundred callers it is enforced where it is held so.
    pub(crate) fn enforced(&self, held: &Held) -> u8 {
        match held {
            Held::AsPacked => self.enforced,
            Held::Everybody => 100,
            Held::Shadow => 0,
            Held::Canary { percent, .. } => *percent,
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            policy,
            version,
            digest,
        } = self;
        write!(f, "{policy} {version} ({})", digest.short())
    }
}
