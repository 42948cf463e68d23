//! `tidegate ship FILE.wasm --to FOLDER`.

mod canary;
mod outcome;

pub(super) use outcome::Outcome;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::lint;
use crate::output::Output;
use crate::ship::admin::{Address, Admin};
use crate::ship::canary::{Bounds, Steps};
use crate::ship::folder::Mounted;
use crate::ship::make::Watch;
use crate::ship::{Change, Folder, Held, Module, Slot};

/// `tidegate ship FILE.wasm --to FOLDER`.
#[derive(Debug, Args)]
pub(crate) struct Ship {
    /// The packed module
    file: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Mount it in shadow: it decides, counts and logs, and changes nothing for callers
    #[arg(long, conflicts_with = "canary")]
    shadow: bool,
    /// Ship a policy of another name than the one that is mounted; its buckets and records start anew
    #[arg(long)]
    new_policy: bool,
    /// Enforce it for these shares of callers in percent, one after the other, in the candidate's slot; then in the gate's
    #[arg(
        long,
        value_name = "SHARES",
        requires = "admin",
        conflicts_with = "slot"
    )]
    canary: Option<Steps>,
    /// What tells callers apart, such as `account` or `tenant,account` [default: what the policy says, or else account]
    #[arg(
        long,
        value_name = "DIMENSIONS",
        requires = "canary",
        value_delimiter = ','
    )]
    by: Option<Vec<String>>,
    /// How long each share is held
    #[arg(long, value_name = "DURATION", default_value = "10m", requires = "canary", value_parser = humantime::parse_duration)]
    hold: Duration,
    /// What halts the canary: `refused`, `5xx`, `p99`, `seal-mismatches`, each with its bound
    #[arg(long, value_name = "BOUNDS", default_value_t, requires = "canary")]
    halt_on: Bounds,
    /// From how many decisions on a share is judged; with fewer at the end of its hold the canary is halted
    #[arg(long, value_name = "NUMBER", default_value_t = 50, requires = "canary")]
    min_decisions: u64,
}

/// Where, and who is asked.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The folder in which Envoy discovers policies: a copy of envoy/ecds
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// The slot [default: gate]
    #[arg(long, value_enum)]
    pub(crate) slot: Option<Slot>,
    /// Envoy's admin interface, to wait until every worker runs it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<Address>,
    /// How long that may take before what was there is put back; also, how long a rollback waits for somebody else's change
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "admin", value_parser = humantime::parse_duration)]
    pub(crate) wait: Duration,
    /// The folder as Envoy sees it, where that is another path, as in a container [default: as in gate.json, or else the same]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) seen_as: Option<PathBuf>,
}

/// What was done, for programs.
#[derive(Serialize)]
struct Report<'a> {
    slot: Slot,
    policy: &'a str,
    version: &'a str,
    digest: crate::packed::Digest,
    /// For how many of a hundred callers it is enforced.
    enforced: u8,
    #[serde(flatten)]
    done: Outcome,
}

impl Place {
    pub(crate) fn slot(&self) -> Slot {
        self.slot.unwrap_or_default()
    }

    pub(crate) fn folder(&self) -> Result<Folder> {
        Folder::open(&self.to, self.seen_as.clone())
    }

    pub(crate) fn watch(&self) -> Option<Watch> {
        self.admin.clone().map(|address| Watch {
            admin: Admin::new(address),
            limit: self.wait,
        })
    }
}

impl Ship {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let module = Module::open(&self.file)?;
        // Mistakes it has none, or it would not be what it says.
        for finding in lint::policy(&self.file, &module.document).findings {
            output.progress(finding);
        }
        let folder = self.place.folder()?;
        let watch = self.place.watch();
        let _ships = folder.lock_ships()?;
        if let (Some(steps), Some(watch)) = (&self.canary, &watch) {
            return self.canary(*output, &folder, &module, steps, watch);
        }
        let slot = self.place.slot();
        let held = if self.shadow {
            Held::Shadow
        } else {
            Held::AsPacked
        };
        let enforced = module.enforced(&held);
        ensure!(
            enforced == 100 || self.place.slot.is_some(),
            "it would be enforced for {enforced} of a hundred callers, and so end what the policy in the gate does for the others; write `--slot candidate` to try it beside that one, or `--slot gate` if it is to take its place"
        );
        let _changes = folder.lock(Duration::ZERO)?;
        self.check(&folder, &module, slot)?;
        let change = Change::mount(&folder, slot, &module, &held)?;
        warn(*output, &change, &module, &held);
        let done: Outcome = change.make(&folder, watch.as_ref())?.into();
        let exit = done.print(*output, slot, &module.identity.to_string());
        output.json(&Report {
            slot,
            policy: &module.identity.policy,
            version: &module.identity.version,
            digest: module.identity.digest,
            enforced,
            done,
        })?;
        Ok(exit)
    }

    /// Refuses what would lose state without being asked to.
    fn check(&self, folder: &Folder, module: &Module, slot: Slot) -> Result<()> {
        let name = &module.identity.policy;
        match folder.mounted(slot)? {
            _ if self.new_policy => Ok(()),
            Mounted::Nothing => Ok(()),
            Mounted::Policy(mounted) if mounted == *name => Ok(()),
            Mounted::Policy(mounted) => bail!(
                "slot `{slot}` mounts policy `{mounted}`, and this is `{name}`: its buckets and records would start anew; write `--new-policy` if they may"
            ),
            Mounted::Unknown => bail!(
                "it cannot be told which policy slot `{slot}` mounts, so its buckets and records may start anew; write `--new-policy` if they may"
            ),
        }
    }
}

/// Says what is allowed and may not be meant.
fn warn(output: Output, change: &Change, module: &Module, held: &Held) {
    let enforced = module.enforced(held) > 0;
    if module.caches && change.slot == Slot::Gate && enforced && change.mounts.len() < 2 {
        output.caution("the policy keeps callers' cached copies apart, and there is no origin.json here: mount the role `origin` behind the cache some other way");
    }
    if change.slot == Slot::Candidate && module.enforced(held) == 100 {
        output.caution("a candidate that is enforced stands before the gate, and both refuse; write `--shadow` or `--canary` to try it");
    }
}
