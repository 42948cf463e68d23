//! The custom section: what a packed module says of itself, for people and tools.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Digest;

/// The content of the custom section, as JSON in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The policy's name.
    pub policy: String,
    /// The policy's version.
    pub version: String,
    /// The mode that holds.
    pub mode: ModeNow,
    /// The engine's version.
    pub engine: String,
    /// The digest of the engine's file.
    pub engine_digest: Digest,
    /// The digest of the module.
    pub digest: Digest,
}

/// The mode that holds for a mount that is told nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeNow {
    /// Refusals are sent.
    Enforce,
    /// Everything is decided and nothing changes for callers.
    Shadow,
}

impl fmt::Display for ModeNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        })
    }
}
