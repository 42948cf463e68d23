//! Whether the role `admin` answers operators, and nobody else.

use core::net::IpAddr;

use tidegate_core::policy::Policy;

use super::Findings;
use super::mount::{Mount, Role};
use super::node::Node;
use super::parts::Chain;

pub(super) fn check(
    policy: &Policy,
    chain: &Chain<'_>,
    mount: &Mount<'_>,
    mounts: &[&Mount<'_>],
    findings: &mut Findings,
) {
    let config = &mount.config;
    if !config.has("allow_on_headers_stop_iteration") {
        findings.warn(
            config,
            "a request with a body would hang; write `allow_on_headers_stop_iteration: true`",
        );
    }
    let id = mount.vm_id.as_ref().and_then(Node::text);
    let gates = mounts
        .iter()
        .filter(|other| other.role == Some(Role::Gate) && other.may_be_of(policy));
    let ids: Vec<&str> = gates
        .filter_map(|gate| gate.vm_id.as_ref().and_then(Node::text))
        .collect();
    if let (Some(at), Some(id), Some(gate)) = (&mount.vm_id, id, ids.first())
        && !ids.contains(&id)
    {
        findings.warn(
            at,
            format!("`{id}` has no state of the gate's to show, which is kept under `{gate}`; write that"),
        );
    }
    let Some(listener) = &chain.listener else {
        return;
    };
    let Some(address) = listener.at(&["address", "socket_address", "address"]) else {
        return;
    };
    let ip: Option<IpAddr> = address.text().and_then(|text| text.parse().ok());
    let Some(ip) = ip else { return };
    // By a listener of all addresses it answers where one of them is in the policy.
    let known = &policy.admin.addresses;
    let answers = ip.is_loopback()
        || known.iter().any(|known| known.has(ip))
        || ip.is_unspecified() && !known.is_empty();
    if !answers {
        findings.warn(
            &address,
            format!("the role `admin` answers by loopback alone, and this is `{ip}`; write 127.0.0.1, or name addresses in the policy's `admin.addresses`"),
        );
    }
}
