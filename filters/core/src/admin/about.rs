//! The policy, and who runs it.

use super::Engine;
use super::view::{About, AboutLimit, Running};
use crate::ledger::event::Moment;
use crate::policy::{Limit, Mode, Policy};

pub(super) fn about(policy: &Policy, engine: &Engine<'_>, at: Moment) -> About {
    let running = (engine.running)();
    About {
        policy: policy.name.clone(),
        version: policy.version.clone(),
        mode: match (policy.mode, &policy.canary) {
            (Mode::Shadow, _) => "shadow",
            (Mode::Enforce, Some(_)) => "canary",
            (Mode::Enforce, None) => "enforce",
        },
        canary_percent: policy.canary.as_ref().map(|canary| canary.percent),
        digest: (engine.digest != 0).then(|| format!("{:016x}", engine.digest)),
        engine: engine.version.to_owned(),
        now: at.shown(at.now),
        limits: policy.limits.iter().map(limit).collect(),
        running: running.iter().filter_map(self::running).collect(),
    }
}

fn limit(limit: &Limit) -> AboutLimit {
    AboutLimit {
        name: limit.name.clone(),
        per: limit.per.iter().map(ToString::to_string).collect(),
        rate: limit.quota.rate().to_string(),
        burst: limit.quota.burst(),
        shadow: limit.shadow,
        max_keys: limit.max_keys,
    }
}

/// What the labels of a worker say: `policy.NAME.version.VERSION.digest.DIGEST.enforced.PERCENT`. A version may have dots.
fn running((labels, vms): &(String, u64)) -> Option<Running> {
    let (_, rest) = labels.strip_prefix("policy.")?.split_once(".version.")?;
    let (rest, enforced) = rest.rsplit_once(".enforced.")?;
    let (version, digest) = rest.rsplit_once(".digest.")?;
    Some(Running {
        version: version.to_owned(),
        digest: (digest != "0000000000000000").then(|| digest.to_owned()),
        enforced_percent: enforced.parse().ok()?,
        vms: *vms,
    })
}
