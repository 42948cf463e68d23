//! What a client is asked to send, and what it tells its application.

use serde::{Deserialize, Serialize};

/// A request that an application makes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    /// Who makes it.
    pub(crate) account: String,
    /// Its `Idempotency-Key`.
    pub(crate) key: Option<String>,
    /// What is in its body.
    pub(crate) amount: u32,
}

impl Ask {
    /// The body, of methods that have one.
    pub(crate) fn body(&self) -> Option<String> {
        (self.method != "GET").then(|| format!("{{\"amount\":{}}}", self.amount))
    }

    /// The header lines.
    pub(crate) fn lines(&self) -> Vec<(&'static str, &str)> {
        let mut lines = vec![
            ("x-account", self.account.as_str()),
            ("content-type", "application/json"),
        ];
        lines.extend(self.key.as_deref().map(|key| ("idempotency-key", key)));
        lines
    }
}

/// What an application gets at last.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Told {
    /// The status, unless the library keeps it to itself.
    pub(crate) status: Option<u16>,
    /// Whether it is the stored answer of an earlier request.
    #[serde(default)]
    pub(crate) replayed: bool,
    /// What the library raises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
