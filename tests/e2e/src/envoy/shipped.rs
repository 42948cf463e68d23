//! An Envoy whose policies are shipped: started from a copy of `envoy/ecds/`, with free ports in the places that are marked there.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::process::Process;
use super::reload::Files;
use super::start::Refusal;
use super::{Envoy, admin, binary};
use crate::{Client, Origin, eventually};

/// The listener of the configuration.
const LISTENER: &str = "ingress";

/// How long Envoy may take to be ready; compiling the module is part of it.
const START: Duration = Duration::from_secs(60);

impl Envoy {
    /// Copies `envoy/ecds/` into `folder`, to be started by [`Envoy::start_shipped`].
    ///
    /// # Errors
    ///
    /// A file cannot be copied, or the configuration does not have the places that are changed.
    pub fn copy_shipped(folder: &Path, origin: &Origin) -> Result<()> {
        for file in fs::read_dir(crate::repo().join("envoy/ecds"))? {
            let file = file?.path();
            let name = file.file_name().context("a file's name")?;
            fs::copy(&file, folder.join(name))?;
        }
        Self::with_free_ports(folder, origin)
    }

    /// Writes free ports and this origin into a copy of `envoy/ecds/`.
    ///
    /// # Errors
    ///
    /// The configuration does not have the places that are changed.
    pub fn with_free_ports(folder: &Path, origin: &Origin) -> Result<()> {
        let config = folder.join("envoy.yaml");
        let mut text = fs::read_to_string(&config)?;
        let port = origin.address().port();
        for (from, to) in [
            ("port_value: 9901", "port_value: 0".to_owned()),
            (
                "0.0.0.0, port_value: 10000",
                "127.0.0.1, port_value: 0".to_owned(),
            ),
            ("port_value: 8080", format!("port_value: {port}")),
        ] {
            ensure!(text.contains(from), "envoy/ecds/envoy.yaml has no `{from}`");
            text = text.replacen(from, &to, 1);
        }
        fs::write(config, text)?;
        Ok(())
    }

    /// Starts Envoy with the `envoy.yaml` of the folder `within` another, in there, with two workers, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Envoy ended, or was not ready within a minute; the error holds its log.
    pub async fn start_shipped(folder: TempDir, within: &str) -> Result<Self> {
        let files = Files::write(folder.path(), None, None)?;
        let config = format!("{within}/envoy.yaml");
        let within = Some(Path::new(within));
        let mut process = Process::start(&binary::path()?, folder, &config, within, 2)?;
        let client = Client::h1();
        let started = eventually(START, async || {
            if let Some(status) = process.ended() {
                return Ok(Err(format!("Envoy ended: {status}")));
            }
            let admin = fs::read_to_string(process.folder().join("admin"))?;
            let ports = admin::ports(&client, &format!("http://{admin}")).await?;
            ensure!(ports.contains_key(LISTENER), "no listener yet");
            let ready = client.get(format!("http://{admin}/ready")).send().await?;
            ensure!(ready.status == 200, "Envoy is not ready: {}", ready.text());
            Ok(Ok((admin, ports)))
        })
        .await;
        let started = started.unwrap_or_else(|error| Err(format!("{error:#}")));
        let (admin, ports) = started.map_err(|reason| Refusal::new(&reason, &process))?;
        Ok(Self {
            process,
            admin,
            ports,
            client,
            files,
        })
    }

    /// The URL of a path on the listener of an Envoy that [`Envoy::start_shipped`] started.
    #[must_use]
    pub fn shipped_at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port(LISTENER))
    }
}
