//! The start of an Envoy, or its refusal.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::builder::Builder;
use super::mount::{self, Mount};
use super::process::Process;
use super::reload::{self, Files};
use super::{Envoy, admin, binary, bootstrap, listener, upstream};
use crate::{Client, eventually};

/// How long Envoy may take to be ready; compiling the module is part of it.
const START: Duration = Duration::from_secs(60);

impl Builder {
    /// Starts Envoy and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Envoy ended, or was not ready within a minute; the error holds its log.
    pub async fn start(self) -> Result<Envoy> {
        Ok(self.try_start().await??)
    }

    /// As [`Builder::start`], with Envoy's refusal to start apart from other failures.
    ///
    /// # Errors
    ///
    /// Envoy could not be run at all.
    pub async fn try_start(self) -> Result<Result<Envoy, Refusal>> {
        let folder = TempDir::with_prefix("tidegate-e2e-")?;
        let files = self.write(folder.path())?;
        let binary = binary::path()?;
        let mut process = Process::start(&binary, folder, "envoy.json", None, self.concurrency)?;
        let client = Client::h1();
        let started = eventually(START, async || {
            if process.ended().is_some() {
                return Ok(None);
            }
            let admin = std::fs::read_to_string(process.folder().join("admin"))?;
            let ready = client.get(format!("http://{admin}/ready")).send().await?;
            ensure!(ready.status == 200, "Envoy is not ready: {}", ready.text());
            let ports = admin::ports(&client, &format!("http://{admin}")).await?;
            ensure!(ports.contains_key(listener::PLAIN), "no listener yet");
            if self.ecds {
                // Envoy would go on and answer each request with a 500.
                let name = reload::refused();
                let refused = admin::stat(&client, &format!("http://{admin}"), &name).await?;
                if refused > 0 {
                    // The last word on it; Envoy writes its log with a delay.
                    let said = process.log().contains("config update rejected");
                    ensure!(said, "the policy was refused, but not yet in the log");
                    return Ok(None);
                }
            }
            Ok(Some((admin, ports)))
        })
        .await;
        Ok(match started {
            Ok(Some((admin, ports))) => Ok(Envoy {
                process,
                admin,
                ports,
                client,
                files,
            }),
            Ok(None) => Err(Refusal::new("Envoy refused its configuration", &process)),
            Err(error) => Err(Refusal::new(&format!("{error:#}"), &process)),
        })
    }

    fn write(&self, folder: &Path) -> Result<Files> {
        let mount = self.policy.clone().map(|policy| Mount {
            module: self.module.clone(),
            policy,
            root_id: self.root_id.clone(),
            vm_id: self.vm_id.clone(),
            environment: self.environment.clone(),
        });
        if let Some(mount) = &mount {
            let shown = mount.module.display();
            ensure!(mount.module.is_file(), "no {shown}; run `make build`");
        }
        let gate = mount.as_ref().filter(|_| self.gate).map(|mount| {
            if self.ecds {
                mount::discovered(&folder.join(Files::ECDS))
            } else {
                mount.fixed()
            }
        });
        let log = mount::text(&folder.join(bootstrap::ACCESS_LOG));
        let mut listeners = listener::listeners(self, gate.as_ref(), &log);
        if let (Some(address), Some(mount)) = (self.admin_role, mount.clone()) {
            let mount = Mount {
                root_id: "admin".into(),
                ..mount
            };
            listeners.push(listener::admin(address, &mount.fixed()));
        }
        let lds = self.lds.then(|| folder.join(Files::LDS));
        let upstream = upstream::filters(self, mount.as_ref());
        let origin = self
            .origin
            .map(|at| bootstrap::cluster(at, self.h1_to_origin, &upstream))
            .map(|cluster| upstream::changed(self, cluster));
        let receivers = self.receivers.iter();
        let receivers = receivers.map(|(name, at)| bootstrap::receiver(name, *at));
        let clusters: Vec<_> = origin.into_iter().chain(receivers).collect();
        let config = bootstrap::bootstrap(&listeners, lds.as_deref(), &clusters);
        std::fs::write(folder.join("envoy.json"), format!("{config:#}"))
            .context("the configuration")?;
        Files::write(
            folder,
            mount.filter(|_| self.ecds && self.gate),
            self.lds.then_some(listeners),
        )
    }
}

/// Envoy did not come up; its log says why.
#[derive(Debug)]
pub struct Refusal {
    /// In one line.
    pub reason: String,
    /// All that it logged.
    pub log: String,
}

impl Refusal {
    pub(super) fn new(reason: &str, process: &Process) -> Self {
        Self {
            reason: reason.to_owned(),
            log: process.log(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.reason, self.log)
    }
}

impl std::error::Error for Refusal {}
