//! VMs that mounts share, and should not.

use super::Findings;
use super::mount::{Mount, Role};
use super::node::Node;

pub(super) fn check(mounts: &[&Mount<'_>], findings: &mut Findings) {
    for (index, mount) in mounts.iter().enumerate() {
        let Some(at) = &mount.vm_id else { continue };
        let id = at.text();
        let mut before = mounts.iter().take(index);
        let other = before.find(|other| {
            other.vm_id.as_ref().and_then(Node::text) == id && !shares_rightly(mount, other)
        });
        if let (Some(other), Some(id)) = (other, id) {
            let what = match (other.role, mount.role) {
                (Some(one), Some(own)) if one != own => {
                    format!("a mount as `{}`", word(one))
                }
                _ => "a mount of another policy".to_owned(),
            };
            findings.warn(
                at,
                format!("`{id}` is the `vm_id` of {what} too: they would share its state and environment; give each its own"),
            );
        }
    }
}

/// Mounts of one policy in one role are meant to share their state, and the role `admin` shows that of the gate.
fn shares_rightly(one: &Mount<'_>, other: &Mount<'_>) -> bool {
    let name = |mount: &Mount<'_>| {
        mount
            .document
            .as_ref()
            .map(|document| document.name.clone())
    };
    let shown = |role| matches!(role, Some(Role::Gate | Role::Admin));
    let roles = one.role == other.role || shown(one.role) && shown(other.role);
    roles && name(one) == name(other)
}

const fn word(role: Role) -> &'static str {
    match role {
        Role::Gate => "gate",
        Role::Origin => "origin",
        Role::Admin => "admin",
    }
}
