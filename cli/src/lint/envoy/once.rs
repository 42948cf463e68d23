//! Whether Envoy would send a request again by itself that the policy makes once.

use tidegate_core::cases;
use tidegate_core::policy::{Mistake, Policy};

use super::node::Node;
use super::parts::{Chain, Parts, walk};
use super::{Findings, Kind};

/// The request headers by which Envoy is told to.
const HEADERS: [&str; 3] = [
    "x-envoy-retry-on",
    "x-envoy-retry-grpc-on",
    "x-envoy-hedge-on-per-try-timeout",
];

pub(super) fn check(policy: &Policy, root: &Node<'_>, parts: &Parts<'_>, findings: &mut Findings) {
    if !policy.records() {
        return;
    }
    // What lies in a chain that has another policy is no matter of this one.
    let foreign: Vec<&Chain<'_>> = parts
        .chains
        .iter()
        .filter(|chain| {
            let mut mounts = chain.filters.iter().filter_map(|f| f.mount.as_ref());
            !mounts.any(|mount| mount.may_be_of(policy))
        })
        .collect();
    for warning in cases::retries(policy, root.value) {
        let inside = |chain: &&Chain<'_>| {
            let place = chain.at.path();
            let rest = warning.path.strip_prefix(&place);
            chain.at.file == root.file && rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        if !foreign.iter().any(inside) {
            findings.0.push((root.file, Kind::Warning, warning));
        }
    }
    walk(root, &mut |node| {
        if foreign.iter().any(|chain| node.is_within(&chain.at)) {
            return;
        }
        let added = node.get("request_headers_to_add").map(|list| list.items());
        for item in added.unwrap_or_default() {
            let name = item.get("header").and_then(|header| header.text_of("key"));
            let name = name.unwrap_or_default().to_ascii_lowercase();
            if HEADERS.contains(&name.as_str()) {
                let message = format!(
                    "`{name}` has Envoy send a request again that a record is to be made of once; leave it out"
                );
                let path = item.path();
                findings
                    .0
                    .push((root.file, Kind::Warning, Mistake { path, message }));
            }
        }
    });
}
