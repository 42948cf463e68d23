//! `tidegate rollback --to FOLDER`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::ship::{Outcome, Place};
use crate::exit::Exit;
use crate::output::Output;
use crate::packed::Digest;
use crate::ship::{Change, Slot};

/// `tidegate rollback --to FOLDER`.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Report {
    slot: Slot,
    /// What is mounted again; none where nothing is, or what was not shipped by this tool.
    policy: Option<String>,
    version: Option<String>,
    digest: Option<Digest>,
    #[serde(flatten)]
    done: Outcome,
}

impl Rollback {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let folder = self.place.folder()?;
        let slot = self.place.slot();
        // Not at the same time as others, and not refused for them either: it is asked for when something is wrong.
        let _changes = folder.lock(self.place.wait)?;
        // It looks at the files twice a second.
        let canary = folder.lock_ships().is_err();
        let change = Change::back(&folder, slot)?;
        let done: Outcome = change.make(&folder, self.place.watch().as_ref())?.into();
        let what = match &change.module {
            Some(module) => module.to_string(),
            None if change.is_empty() => "nothing".to_owned(),
            None => "what was there at first".to_owned(),
        };
        let exit = done.print(*output, slot, &what);
        if canary {
            output.progress("a canary was under way in this folder; it sees the change, and halts");
        }
        let module = change.module;
        output.json(&Report {
            slot,
            digest: module.as_ref().map(|module| module.digest),
            version: module.as_ref().map(|module| module.version.clone()),
            policy: module.map(|module| module.policy),
            done,
        })?;
        Ok(exit)
    }
}
