//! Whether the certificates by which a policy knows callers are validated.

use tidegate_core::policy::{Policy, SourceKind};

use super::Findings;
use super::node::Node;
use super::parts::{Chain, walk};

/// What in a validation context makes a certificate more than anybody's word.
const VALIDATES: [&str; 6] = [
    "trusted_ca",
    "ca_certificate_provider_instance",
    "custom_validator_config",
    "system_root_certs",
    "verify_certificate_hash",
    "verify_certificate_spki",
];

/// What in the common context says that a validation context is sent apart.
const ELSEWHERE: [&str; 3] = [
    "validation_context_sds_secret_config",
    "validation_context_certificate_provider",
    "validation_context_certificate_provider_instance",
];

pub(super) fn check(policy: &Policy, chain: &Chain<'_>, findings: &mut Findings) {
    let mut sources = policy.identity.sources();
    if !sources.any(|source| matches!(source.kind, SourceKind::San(_))) {
        return;
    }
    for context in contexts(chain) {
        look(&context, findings);
    }
}

/// The TLS contexts of the listener's filter chain that the HTTP filters are in.
fn contexts<'e>(chain: &Chain<'e>) -> Vec<Node<'e>> {
    let Some(listener) = &chain.listener else {
        return Vec::new();
    };
    let mut all = listener
        .get("filter_chains")
        .map(|chains| chains.items())
        .unwrap_or_default();
    all.extend(listener.get("default_filter_chain"));
    let mut contexts = Vec::new();
    for own in all.iter().filter(|own| chain.at.is_within(own)) {
        if let Some(socket) = own.get("transport_socket") {
            walk(&socket, &mut |node| {
                if node.get("common_tls_context").is_some() {
                    contexts.push(node.clone());
                }
            });
        }
    }
    contexts
}

fn look(context: &Node<'_>, findings: &mut Findings) {
    let Some(common) = context.get("common_tls_context") else {
        return;
    };
    let combined = common.get("combined_validation_context");
    let validation = match &combined {
        Some(combined) => combined.get("default_validation_context"),
        None => common.get("validation_context"),
    };
    let accepts = validation
        .as_ref()
        .and_then(|validation| validation.get("trust_chain_verification"));
    if let Some(accepts) = accepts.filter(|accepts| accepts.text() == Some("ACCEPT_UNTRUSTED")) {
        findings.warn(
            &accepts,
            "the policy knows callers by their certificates, and here Envoy lets in what it cannot validate: anybody may write any name into one; leave `trust_chain_verification` out",
        );
        return;
    }
    let apart = combined.iter().chain([&common]).any(|node| {
        let mut keys = ELSEWHERE.iter();
        keys.any(|key| node.get(key).is_some())
    });
    let validates = validation.is_some_and(|validation| {
        let mut keys = VALIDATES.iter();
        keys.any(|key| validation.get(key).is_some())
    });
    // Where Envoy does not ask for a certificate it knows none.
    let asks = context.has("require_client_certificate");
    if let Some(asks) = context
        .get("require_client_certificate")
        .filter(|_| asks && !validates && !apart)
    {
        findings.warn(
            &asks,
            "the policy knows callers by their certificates, and here Envoy takes any certificate: anybody may write any name into one; add a `validation_context` with a `trusted_ca`",
        );
    }
}
