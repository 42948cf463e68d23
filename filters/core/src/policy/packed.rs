//! A policy that is part of the module, and what the configuration of a mount may say beside it.

use deserr::{Deserr, ValuePointerRef};

use super::compile::{self, Sources};
use super::document::{Canary as WireCanary, Mode};
use super::faults::Faults;
use super::json::{self, Json, Members};
use super::mistake::Mistake;
use super::read::read;
use super::{Canary, Policy};
use crate::policy;

/// A policy as it was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The document.
    pub document: Vec<u8>,
    /// It was packed to be in shadow, whatever the document says.
    pub shadow: bool,
}

/// What a configuration may say beside a policy that is packed.
#[derive(Debug, Default, Deserr)]
#[deserr(deny_unknown_fields)]
struct Beside {
    #[deserr(default)]
    mode: Option<Mode>,
    #[deserr(default)]
    canary: Option<WireCanary>,
}

impl Packed {
    /// The policy of a mount with this configuration: what was packed, held as [`Policy::hold`] has it.
    ///
    /// # Errors
    /// Every mistake of the document, or of the configuration. The list is never empty.
    pub fn policy(&self, configuration: &[u8]) -> Result<Policy, Vec<Mistake>> {
        let mut policy = Policy::parse(&self.document)?;
        if self.shadow {
            policy.put_in_shadow();
        }
        policy.hold(configuration)?;
        Ok(policy)
    }
}

impl Policy {
    /// Takes what the configuration of a mount says beside a policy that is packed:
    /// - an empty one: nothing;
    /// - `{"mode": "shadow"}`: it is for nobody;
    /// - `{"canary": {"percent": N}}` with or without `by`, which is the policy's own if it has one, and else the account. It is
    ///   a canary at 100 too: a candidate before the gate in force, which leaves caches alone;
    /// - `{"mode": "enforce"}`: it is for everybody, without the canary that the policy may have of its own.
    ///
    /// # Errors
    /// Why the configuration is none for it; what it is then is of no use. The list is never empty.
    pub fn hold(&mut self, configuration: &[u8]) -> Result<(), Vec<Mistake>> {
        if configuration.trim_ascii().is_empty() {
            return Ok(());
        }
        let mut faults = Faults::default();
        match beside(configuration).map_err(|faults| faults.into_mistakes(None))? {
            Some(Beside {
                mode: None,
                canary: None,
            }) => {}
            Some(Beside {
                mode: Some(Mode::Shadow),
                canary: None,
            }) => self.put_in_shadow(),
            Some(Beside {
                mode: None,
                canary: Some(canary),
            }) => self.canary = self::canary(canary, self, &mut faults),
            Some(Beside {
                mode: Some(Mode::Enforce),
                canary: None,
            }) => {
                let root = ValuePointerRef::Origin;
                is_enforced(self, root.push_key("mode"), &mut faults);
                self.canary = None;
            }
            _ => {
                let Policy { name, version, .. } = self;
                let message = format!(
                    "the module carries policy `{name}` version `{version}` and takes no other; leave the configuration empty, or write `{{\"mode\": \"shadow\"}}`, `{{\"mode\": \"enforce\"}}` or `{{\"canary\": {{\"percent\": 5}}}}`"
                );
                faults.add(ValuePointerRef::Origin, message);
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults.into_mistakes(None))
    }
}

/// What a configuration may have beside a policy that is packed; with any other key it is something else.
pub const BESIDE_PACKED: [&str; 2] = ["mode", "canary"];

/// Reads a configuration; `None` if it is something else, as another policy is.
///
/// # Errors
/// What is wrong in it.
fn beside(configuration: &[u8]) -> Result<Option<Beside>, Faults> {
    let Some(mut json) = read(configuration, &mut Faults::default()) else {
        return Ok(None);
    };
    let known = |(key, _): &(String, Json)| BESIDE_PACKED.contains(&key.as_str());
    if !matches!(&json, Json::Object(Members(members)) if members.iter().all(known)) {
        return Ok(None);
    }
    let mut faults = Faults::default();
    json::audit(&mut json, ValuePointerRef::Origin, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    deserr::deserialize(json).map(Some)
}

/// The canary of a configuration.
fn canary(wire: WireCanary, policy: &Policy, faults: &mut Faults) -> Option<Canary> {
    let root = ValuePointerRef::Origin;
    let at = root.push_key("canary");
    is_enforced(policy, at, faults);
    let own = wire.by.is_none();
    let mut canary = compile::canary(wire, Sources::of_rules(&policy.identity), at, faults)?;
    if let (true, Some(before)) = (own, &policy.canary) {
        canary.by.clone_from(&before.by);
    }
    Some(canary)
}

/// Notes the mistake of having a policy enforced that was packed in shadow.
fn is_enforced(policy: &Policy, at: ValuePointerRef<'_>, faults: &mut Faults) {
    if policy.mode == policy::Mode::Shadow {
        faults.add(
            at,
            "the policy in the module is in shadow, which is enforced for nobody; pack it without",
        );
    }
}
