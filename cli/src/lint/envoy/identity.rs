//! Whether the claims that a policy goes by are there when the gate reads them.

use std::collections::BTreeSet;

use tidegate_core::policy::{Policy, SourceKind};

use super::Findings;
use super::filter::{Filter, FilterKind};
use super::parts::Chain;

pub(super) fn check(policy: &Policy, chain: &Chain<'_>, gate: usize, findings: &mut Findings) {
    let wanted = payloads(policy);
    let Some(filter) = chain.filters.get(gate).filter(|_| !wanted.is_empty()) else {
        return;
    };
    let verify = |filters: &[Filter<'_>]| filters.iter().any(|f| f.kind == FilterKind::JwtAuthn);
    let before = chain.filters.get(..gate).unwrap_or_default();
    if !verify(before) {
        let message = if !verify(&chain.filters) {
            "the policy reads claims of tokens, and no `jwt_authn` before the gate verifies any; add one"
        } else {
            "the policy reads claims of tokens, and `jwt_authn` stands behind the gate; put it before"
        };
        findings.warn(&filter.at, message);
        return;
    }
    let mut left = BTreeSet::new();
    for filter in before.iter().filter(|f| f.kind == FilterKind::JwtAuthn) {
        // What is sent apart may say anything.
        let Some(config) = &filter.config else { return };
        let providers = config
            .get("providers")
            .map(|providers| providers.children());
        for provider in providers.unwrap_or_default() {
            left.extend(provider.text_of("payload_in_metadata"));
        }
    }
    for payload in wanted.iter().filter(|payload| !left.contains(*payload)) {
        findings.warn(
            &filter.at,
            format!("no provider of `jwt_authn` leaves the claims where the policy reads them; write `payload_in_metadata: {payload}`"),
        );
    }
}

/// Under which names the policy reads claims.
fn payloads(policy: &Policy) -> BTreeSet<&str> {
    let sources = policy.identity.sources();
    sources
        .filter_map(|source| match &source.kind {
            SourceKind::Jwt { payload, .. } => Some(payload.as_str()),
            SourceKind::Header(_)
            | SourceKind::Query(_)
            | SourceKind::Cookie(_)
            | SourceKind::San(_) => None,
        })
        .collect()
}
