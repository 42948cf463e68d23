//! `tidegate ship FILE.wasm --to FOLDER`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::lint;
use crate::output::{CAUTION, GOOD, Output};
use crate::ship::admin::{Address, Admin};
use crate::ship::canary::{Bounds, Ended, Event, Figures, Plan, Steps, Told, Walk};
use crate::ship::change::Watch;
use crate::ship::folder::Mounted;
use crate::ship::{Change, Done, Folder, Held, Module, Slot};

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
    /// From how many decisions on a share or a p99 counts
    #[arg(long, value_name = "NUMBER", default_value_t = 50, requires = "canary")]
    min_decisions: u64,
}

/// Where, and who is asked.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The folder in which Envoy discovers policies: a copy of envoy/ecds
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// The slot
    #[arg(long, value_enum, default_value_t)]
    pub(crate) slot: Slot,
    /// Envoy's admin interface, to wait until every worker runs it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin: Option<Address>,
    /// How long that may take before what was there is put back
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

/// What became of it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(super) enum Outcome {
    /// It is written, and nobody was asked.
    Written,
    /// So many VMs run it: all.
    Running { vms: Option<u64> },
    /// It is written, and not every worker told that it runs it.
    Unconfirmed { reason: String },
    /// What was there is there again.
    Undone { reason: String },
}

#[derive(Serialize)]
struct CanaryReport<'a> {
    policy: &'a str,
    version: &'a str,
    digest: crate::packed::Digest,
    halt_on: String,
    steps: Vec<Told>,
    #[serde(flatten)]
    ended: Ended,
}

impl Place {
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
        if let (Some(steps), Some(watch)) = (&self.canary, &watch) {
            return self.canary(*output, &folder, &module, steps, watch);
        }
        self.check(&folder, &module, self.place.slot)?;
        let held = if self.shadow {
            Held::Shadow
        } else {
            Held::AsPacked
        };
        let change = Change::mount(&folder, self.place.slot, &module, &held)?;
        warn(*output, &change, &module, &held);
        let done: Outcome = change.make(&folder, watch.as_ref())?.into();
        let exit = done.print(*output, self.place.slot, &module.identity.to_string());
        output.json(&Report {
            slot: self.place.slot,
            policy: &module.identity.policy,
            version: &module.identity.version,
            digest: module.identity.digest,
            enforced: module.enforced(&held),
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

    fn canary(
        &self,
        output: Output,
        folder: &Folder,
        module: &Module,
        steps: &Steps,
        watch: &Watch,
    ) -> Result<Exit> {
        ensure!(
            !module.shadow,
            "the module is in shadow, which is enforced for nobody; pack it without"
        );
        self.check(folder, module, Slot::Gate)?;
        self.check(folder, module, Slot::Candidate)?;
        let plan = Plan {
            steps: steps.clone(),
            by: self.by.clone(),
            hold: self.hold,
            bounds: self.halt_on.clone(),
            least: self.min_decisions,
        };
        let name = module.identity.to_string();
        let hold = humantime::format_duration(self.hold);
        output.line(format_args!(
            "{name}: each share is held for {hold}, and halted on {} from {} decisions on",
            self.halt_on, self.min_decisions
        ));
        let mut told = Vec::new();
        let ended = Walk::new(&plan, folder, module, watch)?.go(|event| match event {
            Event::Held { percent, hold } => output.progress(format_args!(
                "{percent}%: every worker runs it; held for {}",
                humantime::format_duration(hold)
            )),
            Event::Over(step) => {
                output.line(step);
                if step.figures.decisions < self.min_decisions {
                    output.progress(format_args!(
                        "{}%: {} decisions are too few to judge refusals by; write a longer `--hold`, or fewer `--min-decisions`",
                        step.percent, step.figures.decisions
                    ));
                }
                told.push(step.clone());
            }
        })?;
        let exit = match &ended {
            Ended::Promoted { vms } => {
                let vms = vms.map_or(String::new(), |vms| format!(": all {vms} VMs run it"));
                output.line(format_args!("{GOOD}promoted{GOOD:#} {name}{vms}"));
                Exit::Done
            }
            Ended::Halted {
                percent,
                reason,
                left,
                ..
            } => {
                output.error(&format!("halted at {percent}%: {reason}"));
                match left {
                    None => output.error("the candidate's slot has again what it had before; the gate was not touched"),
                    Some(error) => output.error(&format!(
                        "the candidate's slot could not be put back: {error}"
                    )),
                }
                Exit::Failed
            }
        };
        output.json(&CanaryReport {
            policy: &module.identity.policy,
            version: &module.identity.version,
            digest: module.identity.digest,
            halt_on: self.halt_on.to_string(),
            steps: told,
            ended,
        })?;
        Ok(exit)
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

impl From<Done> for Outcome {
    fn from(done: Done) -> Self {
        match done {
            Done::Written => Self::Written,
            Done::Everywhere(vms) => Self::Running { vms },
            Done::Unconfirmed(reason) => Self::Unconfirmed { reason },
            Done::Undone(reason) => Self::Undone { reason },
        }
    }
}

impl Outcome {
    /// Says it, and how the verb ends.
    pub(super) fn print(&self, output: Output, slot: Slot, what: &str) -> Exit {
        match self {
            Self::Written => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`; {CAUTION}nobody was asked{CAUTION:#} whether Envoy took it: `--admin` does"
                ));
            }
            Self::Running { vms: Some(vms) } => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`: all {vms} VMs run it"
                ));
            }
            Self::Running { vms: None } => {
                output.line(format_args!(
                    "{GOOD}mounted{GOOD:#} {what} in slot `{slot}`: Envoy has taken it"
                ));
            }
            Self::Unconfirmed { reason } => {
                output.error(&format!("{what} in slot `{slot}`: {reason}"));
                output
                    .error("its files are written; look at Envoy before anything else is shipped");
                return Exit::Failed;
            }
            Self::Undone { reason } => {
                output.error(&format!("{what} in slot `{slot}`: {reason}"));
                output.error("what was mounted before is mounted again");
                return Exit::Failed;
            }
        }
        Exit::Done
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Figures {
            decisions,
            refused,
            answers,
            server_errors,
            seal_mismatches,
            p99_ms,
        } = self.figures;
        write!(
            f,
            "{:>3}%  {} s  {refused} of {decisions} refused, {server_errors} of {answers} answers 5xx, {seal_mismatches} seal mismatches",
            self.percent, self.seconds
        )?;
        match p99_ms {
            Some(time) => write!(f, ", p99 {time:.0} ms"),
            None => Ok(()),
        }
    }
}
