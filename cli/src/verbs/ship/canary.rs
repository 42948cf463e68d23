//! `tidegate ship FILE.wasm --canary SHARES`.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::Ship;
use crate::exit::Exit;
use crate::output::{GOOD, Output};
use crate::ship::canary::{Ended, Event, Figures, Left, Plan, Steps, Told, Walk};
use crate::ship::make::Watch;
use crate::ship::{Folder, Module, Slot};

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

/// The least time in which a p99 is one of the share: Envoy tells that of its last 5 s.
const P99: Duration = Duration::from_secs(10);

impl Ship {
    pub(super) fn canary(
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
        let first = steps.shares().first().copied().unwrap_or_default();
        if self.halt_on.p99() {
            ensure!(
                self.hold >= P99,
                "a `p99` is that of Envoy's last 5 s, and cannot be judged within a shorter hold than 10 s; write `--hold 10s` or more, or leave `p99` out"
            );
            ensure!(
                first > 1,
                "a `p99` is that of all answers, and a share of 1% cannot move it; begin with a larger share, or leave `p99` out"
            );
        }
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
        let walk = Walk::new(&plan, folder, module, watch)?;
        let ended = walk.go(|event| match event {
            Event::Before(time) => output.progress(format_args!(
                "{} without it first, to know how often answers are 5xx",
                humantime::format_duration(time)
            )),
            Event::Held { percent, hold } => output.progress(format_args!(
                "{percent}%: every worker runs it; held for {}",
                humantime::format_duration(hold)
            )),
            Event::Over(step) => {
                output.line(step);
                told.push(step.clone());
            }
        })?;
        let exit = print(output, &ended, &name);
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

/// Says how it ended, and how the verb ends.
fn print(output: Output, ended: &Ended, name: &str) -> Exit {
    let (percent, reason, left) = match ended {
        Ended::Promoted { vms } => {
            let vms = vms.map_or(String::new(), |vms| format!(": all {vms} VMs run it"));
            output.line(format_args!("{GOOD}promoted{GOOD:#} {name}{vms}"));
            return Exit::Done;
        }
        Ended::Halted {
            percent,
            reason,
            candidate,
            gate,
            left,
            ..
        } => {
            let slots = [(Slot::Candidate, *candidate), (Slot::Gate, *gate)];
            let words = slots.map(|(slot, left)| words(slot, left));
            (percent, reason, (words, left))
        }
    };
    output.error(&format!("halted at {percent}%: {reason}"));
    let (words, why) = left;
    if let Some(why) = why {
        output.error(why);
    }
    output.error(&words.join("; "));
    Exit::Failed
}

/// In what state a slot is left.
fn words(slot: Slot, left: Left) -> String {
    let name = match slot {
        Slot::Candidate => "the candidate's slot",
        Slot::Gate => "the gate",
    };
    match left {
        Left::Untouched => format!("{name} was not touched"),
        Left::PutBack => format!("{name} has again what it had before"),
        Left::Emptied => {
            format!("{name} is empty: what it had before was enforced, and is not put back")
        }
        Left::Theirs => format!("{name} is as somebody else left it"),
        Left::Astray => {
            format!("{name} could not be put back; write `tidegate rollback --slot {slot}`")
        }
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
