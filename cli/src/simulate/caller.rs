//! Who sent a request, as far as statistics go: tenant and account, or else the address.

use ahash::RandomState;
use serde::Serialize;
use tidegate_core::identity::{Address, Identity, Part};
use tidegate_core::policy::{Policy, Source};
use tidegate_core::request::Request;

use super::field::{Fields, Target};
use super::present::Presenter;
use super::record::Record;
use crate::output::cut;

/// The longest part of a name that is shown, in characters.
const MOST_SHOWN: usize = 64;

/// Tells callers apart by a number.
#[derive(Debug)]
pub(crate) struct Callers {
    hasher: RandomState,
    /// The fields that the tenant and the account may stand in, in the order in which the policy looks.
    tenant: Vec<usize>,
    account: Vec<usize>,
    address: Option<usize>,
}

/// A caller by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Caller {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// Where there is no account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
}

impl Callers {
    pub(crate) fn new(policy: &Policy, presenter: &Presenter, fields: &Fields) -> Self {
        let of = |sources: &[Source]| {
            sources
                .iter()
                .filter_map(|s| presenter.field_of(s))
                .collect()
        };
        Self {
            // The same callers are sampled in every run.
            hasher: RandomState::with_seeds(1, 2, 3, 4),
            tenant: of(&policy.identity.tenant),
            account: of(&policy.identity.account),
            address: fields.find(&Target::Address),
        }
    }

    /// The number of the caller of a request: a digest, so that a share of numbers is a share of callers.
    pub(crate) fn number(&self, record: &Record) -> u64 {
        let first = |fields: &[usize]| {
            let mut values = fields.iter().map(|field| record.get(*field));
            values.find(|value| !value.is_empty()).unwrap_or_default()
        };
        let (tenant, account) = (first(&self.tenant), first(&self.account));
        if account.is_empty() {
            self.hasher
                .hash_one((tenant, 1_u8, record.find(self.address)))
        } else {
            self.hasher.hash_one((tenant, 0_u8, account))
        }
    }
}

impl Caller {
    /// The caller of a request by name; a secret is shown by the beginning of its digest.
    pub(crate) fn of(policy: &Policy, request: &Request<'_>) -> Self {
        let Ok(identity) = Identity::of(&policy.identity, request) else {
            let address = request.facts.source_address();
            let address = Address::of_peer(&address, policy.identity.address.ipv6_prefix);
            return Self {
                address: address.map(|address| address.to_string()),
                ..Self::default()
            };
        };
        let account = identity.account.as_ref().map(name);
        Self {
            tenant: identity.tenant.as_ref().map(name),
            address: match account {
                None => identity.address().map(|address| address.to_string()),
                Some(_) => None,
            },
            account,
        }
    }
}

fn name(part: &Part<'_>) -> String {
    let text = String::from_utf8_lossy(&part.value);
    let digest = text.starts_with("sha256:");
    let most = if digest { 23 } else { MOST_SHOWN };
    cut(&text, most)
}

impl std::fmt::Display for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [&self.tenant, &self.account, &self.address];
        let mut parts = parts.into_iter().flatten();
        match parts.next() {
            None => f.write_str("nobody"),
            Some(first) => {
                f.write_str(first)?;
                parts.try_for_each(|part| write!(f, " / {part}"))
            }
        }
    }
}
