//! A running Envoy: where it listens and what it says about itself.

mod admin;
mod binary;
mod bootstrap;
mod builder;
mod cache;
mod examples;
pub mod limiters;
mod listener;
mod mount;
mod process;
mod reload;
mod routes;
mod shipped;
mod start;
mod told;
mod upstream;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

pub use binary::{path as program, validate};
pub use builder::{Builder, ClientCertificates};
pub use cache::Cache;
pub use examples::{configurations, examples};
pub use mount::default_module;
pub use reload::Reload;
pub use start::Refusal;
pub use told::Vms;

use crate::Client;
use process::Process;

/// A running Envoy. Killed when it goes out of scope.
#[derive(Debug)]
pub struct Envoy {
    process: Process,
    admin: String,
    ports: BTreeMap<String, u16>,
    client: Client,
    files: reload::Files,
}

impl Envoy {
    /// An Envoy to be.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// `http://127.0.0.1:PORT` of the plain listener.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// `127.0.0.1:PORT` of the plain listener.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port(listener::PLAIN))
    }

    /// `https://127.0.0.1:PORT` of the TLS listener, which [`Builder::tls`] asks for.
    #[must_use]
    pub fn url_tls(&self) -> String {
        format!("https://127.0.0.1:{}", self.port(listener::TLS))
    }

    /// The URL of a path at the role `admin`, which [`Builder::admin_role`] mounts.
    #[must_use]
    pub fn live(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port(listener::ADMIN))
    }

    /// The URL of a path on the plain listener.
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        self.url() + path
    }

    /// The port of a listener by its name; 0 for one that was not there at the start.
    #[must_use]
    pub fn port(&self, listener: &str) -> u16 {
        self.ports.get(listener).copied().unwrap_or(0)
    }

    /// `http://127.0.0.1:PORT` of the admin interface.
    #[must_use]
    pub fn admin(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The folder that holds its configuration and logs; removed at the end unless the test fails.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.process.folder().to_path_buf()
    }

    /// The lines of the access log so far. Envoy writes them within a tenth of a second.
    ///
    /// # Errors
    ///
    /// A line is not JSON.
    pub fn access_log(&self) -> Result<Vec<Value>> {
        let path = self.process.folder().join(bootstrap::ACCESS_LOG);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // What follows the last line end is still being written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).with_context(|| format!("`{line}`")))
            .collect()
    }

    /// The memory that it holds, in bytes (`VmRSS`).
    ///
    /// # Errors
    ///
    /// The process is gone.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.process.status_bytes("VmRSS")
    }
}
