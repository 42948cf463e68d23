//! Changes while Envoy runs: files of discovery, replaced by a rename, and the wait until Envoy has read them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::sync::Mutex;

use super::mount::{Mount, NAME, Policy};
use super::{Envoy, bootstrap};
use crate::eventually;

/// How long Envoy may take to read a file; compiling a module is part of it.
const READ: Duration = Duration::from_secs(30);

/// What Envoy made of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// It is in force, on each worker as soon as that comes round to it.
    Accepted,
    /// It was refused; what was there goes on.
    Rejected,
}

/// The files of discovery and what they hold.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    version: u64,
    mount: Option<Mount>,
    /// What was shipped last for the mount, and what became of it.
    last: Option<(Value, Reload)>,
    listeners: Option<Vec<Value>>,
}

impl Files {
    pub(super) const ECDS: &str = "ecds.json";
    pub(super) const LDS: &str = "lds.json";

    /// Writes the first version of what is discovered.
    pub(super) fn write(
        folder: &Path,
        mount: Option<Mount>,
        listeners: Option<Vec<Value>>,
    ) -> Result<Self> {
        if let Some(mount) = &mount {
            replace(&folder.join(Self::ECDS), &mount.discovery(0))?;
        }
        if let Some(listeners) = &listeners {
            let discovery = bootstrap::listener_discovery(listeners, 0);
            replace(&folder.join(Self::LDS), &discovery)?;
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            state: Mutex::new(State {
                version: 0,
                mount,
                last: None,
                listeners,
            }),
        })
    }
}

impl Envoy {
    /// Ships another policy by ECDS, as a `StringValue`, and waits until Envoy has taken or refused it.
    ///
    /// # Errors
    ///
    /// Envoy was built without `ecds()`, or did not read the file.
    pub async fn update_policy(&self, policy: &Value) -> Result<Reload> {
        self.update_policy_text(policy.to_string()).await
    }

    /// As [`Envoy::update_policy`], with text that need not be JSON.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn update_policy_text(&self, policy: impl Into<String>) -> Result<Reload> {
        let policy = Policy::Text(policy.into());
        self.update_mount(|mount, _| {
            mount.policy = policy;
            Ok(())
        })
        .await
    }

    /// Ships another module by ECDS, under a file name that is new to Envoy.
    ///
    /// # Errors
    ///
    /// As [`Envoy::update_policy`], or there is no such file.
    pub async fn update_module(&self, module: &Path) -> Result<Reload> {
        self.update_mount(|mount, version| {
            mount.module = self.folder().join(format!("module-{version}.wasm"));
            fs::copy(module, &mount.module).with_context(|| module.display().to_string())?;
            Ok(())
        })
        .await
    }

    async fn update_mount(
        &self,
        change: impl FnOnce(&mut Mount, u64) -> Result<()>,
    ) -> Result<Reload> {
        let mut state = self.files.state.lock().await;
        state.version += 1;
        let version = state.version;
        let mut next = state.mount.clone().context("built without `ecds()`")?;
        change(&mut next, version)?;
        let file = self.files.folder.join(Files::ECDS);
        // `config_reload` would not do: it moves for a refused policy as well.
        let counters = [taken(), refused()];
        let mut outcome = self.ship(&file, &next.discovery(version), counters).await?;
        let content = next.typed_config();
        // Envoy skips what it read last, and counts that as taken even if it had refused it.
        if let Some((last, was)) = &state.last
            && *last == content
        {
            outcome = *was;
        }
        state.last = Some((content, outcome));
        if outcome == Reload::Accepted {
            state.mount = Some(next);
        }
        Ok(outcome)
    }

    /// Changes the listeners by LDS (`plain` first, then `tls` if there is one) and waits until Envoy has taken or refused that.
    /// A changed listener keeps its port.
    ///
    /// # Errors
    ///
    /// Envoy was built without `lds()`, or did not read the file.
    pub async fn update_listeners(&self, change: impl FnOnce(&mut Vec<Value>)) -> Result<Reload> {
        let mut state = self.files.state.lock().await;
        state.version += 1;
        let version = state.version;
        let listeners = state.listeners.as_mut().context("built without `lds()`")?;
        let mut next = listeners.clone();
        change(&mut next);
        let file = self.files.folder.join(Files::LDS);
        let counters =
            ["update_success", "update_rejected"].map(|n| format!("listener_manager.lds.{n}"));
        let content = bootstrap::listener_discovery(&next, version);
        let outcome = self.ship(&file, &content, counters).await?;
        if outcome == Reload::Accepted {
            *listeners = next;
            eventually(READ, async || {
                match self
                    .stat("listener_manager.total_listeners_warming")
                    .await?
                {
                    0 => Ok(()),
                    n => bail!("{n} listeners are warming"),
                }
            })
            .await?;
        }
        Ok(outcome)
    }

    /// Replaces `file` and waits until one of the counters (taken, refused) has moved.
    async fn ship(&self, file: &Path, content: &Value, counters: [String; 2]) -> Result<Reload> {
        let [taken, refused] = counters;
        let before = (self.stat(&taken).await?, self.stat(&refused).await?);
        replace(file, content)?;
        eventually(READ, async || {
            if self.stat(&refused).await? > before.1 {
                Ok(Reload::Rejected)
            } else if self.stat(&taken).await? > before.0 {
                Ok(Reload::Accepted)
            } else {
                bail!("Envoy has not read {}", file.display())
            }
        })
        .await
    }
}

fn taken() -> String {
    format!("extension_config_discovery.http_filter.{NAME}.update_success")
}

/// The counter of configurations that Envoy refused.
pub(super) fn refused() -> String {
    format!("extension_config_discovery.http_filter.{NAME}.update_rejected")
}

/// Writes beside the file and renames: Envoy watches for moves, and never sees half a file.
fn replace(file: &Path, content: &Value) -> Result<()> {
    let next = file.with_extension("next");
    fs::write(&next, format!("{content:#}"))?;
    fs::rename(&next, file).with_context(|| file.display().to_string())
}
