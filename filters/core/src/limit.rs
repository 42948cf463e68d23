//! What a limit is worth to a caller.

use std::collections::BTreeMap;

use crate::identity::{Identity, Part};
use crate::policy::{Dimension, Limit};
use crate::quota::Quota;

impl Limit {
    /// Whether the limit tells accounts apart.
    pub(crate) fn needs_account(&self) -> bool {
        self.per.contains(&Dimension::Account)
    }

    /// What the caller's bucket is worth: the account's override, else the tenant's, else the plan, else the
    /// limit's own quota.
    pub(crate) fn quota_of(&self, identity: &Identity<'_>) -> Quota {
        let named = |quotas: &BTreeMap<String, Quota>, part: Option<&Part<'_>>| {
            if quotas.is_empty() {
                return None;
            }
            quotas.get(part?.text()?).copied()
        };
        named(&self.account_overrides, identity.account.as_ref())
            .or_else(|| named(&self.tenant_overrides, identity.tenant.as_ref()))
            .or_else(|| named(&self.plans, identity.plan.as_ref()))
            .unwrap_or(self.quota)
    }
}
