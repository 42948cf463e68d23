//! The folder that Envoy discovers policies in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::history::History;
use super::lock::{self, Lock};
use super::module::Module;
use super::resource::{self, Resource};
use super::slot::{GATE, Place};
use super::{Mount, Slot};
use crate::policy_file;

/// The folder of modules in it.
const MODULES: &str = "modules";

/// A folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The folder as Envoy sees it.
    seen_as: Option<PathBuf>,
}

/// Which policy a slot mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mounted {
    /// None.
    Nothing,
    /// This one.
    Policy(String),
    /// One that cannot be told.
    Unknown,
}

impl Folder {
    /// Finds a folder.
    ///
    /// # Errors
    /// It is not there.
    pub(crate) fn open(path: &Path, seen_as: Option<PathBuf>) -> Result<Self> {
        let shown = path.display();
        let path = path
            .canonicalize()
            .with_context(|| format!("`{shown}` cannot be opened"))?;
        ensure!(
            path.is_dir(),
            "`{shown}` is not a folder; name the one that Envoy discovers policies in, like a copy of envoy/ecds"
        );
        Ok(Self { path, seen_as })
    }

    /// Keeps others from changing it, as soon as nobody does, and at most after so long.
    ///
    /// # Errors
    /// Somebody changes it all the while, or it cannot be written.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Lock> {
        lock::changes(&self.path, patience)
    }

    /// Keeps others from shipping.
    ///
    /// # Errors
    /// Somebody ships, or a canary is under way; or it cannot be written.
    pub(crate) fn lock_ships(&self) -> Result<Lock> {
        lock::ships(&self.path)
    }

    /// A file of it.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The bytes of a place's file, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn bytes(&self, place: Place) -> Result<Option<Vec<u8>>> {
        let file = self.at(place.file);
        if !file.exists() {
            return Ok(None);
        }
        policy_file::read(&file).map(Some)
    }

    /// What a place's file holds; of one that is not there, that it mounts nothing.
    ///
    /// # Errors
    /// It cannot be read, or holds something else.
    pub(super) fn resource(&self, place: Place) -> Result<Resource> {
        match self.bytes(place)? {
            Some(bytes) => Resource::read(&self.at(place.file), &bytes),
            None => Ok(Resource::nothing(place)),
        }
    }

    /// What each of a slot's files mounts. Files that are not there are left out, but for the gate's.
    ///
    /// # Errors
    /// One cannot be read.
    pub(crate) fn mounts(&self, slot: Slot) -> Result<BTreeMap<String, Mount>> {
        let there = slot
            .places()
            .iter()
            .filter(|place| **place == slot.gate() || self.at(place.file).exists());
        there
            .map(|place| Ok((place.file.to_owned(), self.resource(*place)?.mount())))
            .collect()
    }

    /// The plugin of a place where none is: as the gate's, or else one of our own.
    ///
    /// # Errors
    /// The gate's file cannot be read.
    pub(super) fn fresh(&self, place: Place, policy: &str) -> Result<Value> {
        let gate = self.resource(GATE)?;
        Ok(gate
            .plugin_for(place)
            .unwrap_or_else(|| resource::fresh(place, policy)))
    }

    /// The history.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn history(&self) -> Result<History> {
        History::read(&self.path)
    }

    /// Which policy a slot mounts.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub(crate) fn mounted(&self, slot: Slot) -> Result<Mounted> {
        let Mount::Module {
            filename,
            configuration,
        } = self.resource(slot.gate())?.mount()
        else {
            return Ok(Mounted::Nothing);
        };
        if let Ok(module) = Module::open(&self.local(&filename)) {
            return Ok(Mounted::Policy(module.identity.policy));
        }
        // An engine without a policy gets it as its configuration.
        let document = configuration.and_then(|given| match given.get("value")? {
            Value::String(text) => serde_json::from_str(text).ok(),
            document => Some(document.clone()),
        });
        let name = document
            .as_ref()
            .and_then(|document: &Value| document.get("policy")?.as_str());
        Ok(name.map_or(Mounted::Unknown, |name| Mounted::Policy(name.to_owned())))
    }

    /// Where a file lies here that Envoy sees as `filename`.
    pub(super) fn local(&self, filename: &str) -> PathBuf {
        let filename = Path::new(filename);
        let ours = filename
            .file_name()
            .map(|name| self.path.join(MODULES).join(name))
            .filter(|file| file.is_file());
        // What is neither here nor an absolute path starts from a folder that only Envoy knows.
        ours.unwrap_or_else(|| self.path.join(filename))
    }

    /// Puts a module among the others; returns its file as Envoy sees it.
    ///
    /// # Errors
    /// It cannot be written, or other bytes lie there under its name.
    pub(crate) fn place(&self, module: &Module) -> Result<String> {
        let folder = self.path.join(MODULES);
        fs::create_dir_all(&folder)
            .with_context(|| format!("`{}` cannot be made", folder.display()))?;
        let file = folder.join(module.file_name());
        if file.exists() {
            ensure!(
                policy_file::read(&file)? == module.bytes,
                "`{}` is there with other bytes; a module is never overwritten: remove it if nothing mounts it",
                file.display()
            );
        } else {
            policy_file::replace(&file, &module.bytes)?;
        }
        let seen = match &self.seen_as {
            Some(seen) => seen.join(MODULES),
            None => self.seen_modules()?.unwrap_or(folder),
        };
        Ok(seen.join(module.file_name()).to_string_lossy().into_owned())
    }

    /// The folder of modules as the gate's file has it.
    fn seen_modules(&self) -> Result<Option<PathBuf>> {
        let Mount::Module { filename, .. } = self.resource(GATE)?.mount() else {
            return Ok(None);
        };
        let folder = Path::new(&filename).parent();
        let ours = folder.filter(|folder| folder.ends_with(MODULES) && folder.is_absolute());
        Ok(ours.map(Path::to_path_buf))
    }
}
