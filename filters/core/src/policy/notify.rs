//! Who outside is told that a scope is refused for long.

use std::collections::BTreeMap;

use super::Policy;
use crate::identity::Identity;
use crate::quota::NANOS_PER_SEC;

/// After how long without a refusal the next one begins anew, where a policy tells nobody, in nanoseconds.
const PAUSE: u64 = 60 * NANOS_PER_SEC;

/// Where events go, and when. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// The Envoy cluster of the receiver.
    pub cluster: String,
    /// The path, which begins with `/`.
    pub path: String,
    /// The authority.
    pub host: String,
    /// The environment variable of the VM that holds the key to sign with.
    pub key_env: String,
    /// For how long a scope is refused until somebody is told: 0 to an hour.
    pub after: u64,
    /// For how long it is not refused until that is over: a second to an hour.
    pub quiet: u64,
    /// How often somebody is told of one scope at most: a second to 366 days.
    pub interval: u64,
    /// How long to wait after the first attempt that failed: a millisecond to an hour.
    pub backoff: u64,
    /// How long one attempt may take: a millisecond to an hour.
    pub timeout: u64,
    /// Where to read on.
    pub docs: Option<String>,
    /// What tenants are called; at most 64 bytes each.
    pub tenants: BTreeMap<String, String>,
    /// What accounts are called.
    pub accounts: BTreeMap<String, String>,
}

impl Notify {
    /// Which label a caller has, among those of accounts and then of tenants.
    pub(crate) fn label_of(&self, identity: &Identity<'_>) -> Option<usize> {
        let place = |labels: &BTreeMap<String, String>,
                     part: Option<&crate::identity::Part<'_>>| {
            let text = part?.text()?;
            labels.keys().position(|name| name == text)
        };
        place(&self.accounts, identity.account.as_ref()).or_else(|| {
            let tenant = place(&self.tenants, identity.tenant.as_ref())?;
            tenant.checked_add(self.accounts.len())
        })
    }
}

impl Policy {
    /// The label of this number; empty if there is none.
    pub(crate) fn label(&self, label: Option<usize>) -> &str {
        let labels = self.notify.iter();
        let mut labels =
            labels.flat_map(|notify| notify.accounts.values().chain(notify.tenants.values()));
        label
            .and_then(|label| labels.nth(label))
            .map_or("", String::as_str)
    }

    /// After how long without a refusal of a scope the next one begins anew, in nanoseconds.
    pub(crate) fn pause(&self) -> u64 {
        self.notify.as_ref().map_or(PAUSE, |notify| notify.quiet)
    }
}
