//! How each mount of the module is set up.

use tidegate_core::policy::Policy;

use super::Findings;
use super::mount::{Mount, Role};

pub(super) fn check(policies: &[Policy], mount: &Mount<'_>, findings: &mut Findings) {
    let config = &mount.config;
    let place = |key| config.get(key).unwrap_or_else(|| config.clone());
    match mount.role {
        Some(Role::Gate | Role::Origin | Role::Admin) => {}
        None => {
            let message = match config.text_of("root_id").filter(|id| !id.is_empty()) {
                Some(id) => format!("`{id}` is not a role; write `gate`, `origin` or `admin`"),
                None => "`root_id` is not set; write `gate`, `origin` or `admin`".to_owned(),
            };
            findings.mistake(&place("root_id"), message);
        }
    }
    if config.text_of("failure_policy") != Some("FAIL_RELOAD") {
        findings.warn(
            &place("failure_policy"),
            "after a crash this worker answers 503, or lets everything through, until Envoy restarts; write `failure_policy: FAIL_RELOAD`",
        );
    }
    if mount.vm_id.is_none() {
        findings.warn(
            &place("vm_config"),
            "`vm_id` is not set, and the state of the limits is kept under it; give each policy its own, and never rename it",
        );
    }
    if let Some(document) = &mount.document {
        for mistake in &document.mistakes {
            findings.mistake(&document.at, format!("in the policy, {mistake}"));
        }
    }
    if let Some(beside) = &mount.beside {
        // Which policy the module carries is not to be seen here: a mistake is what none of them takes.
        let held = |policy: &Policy| policy.clone().hold(beside.text.as_bytes()).err();
        let told: Option<Vec<_>> = policies.iter().map(held).collect();
        for mistake in told.into_iter().flatten().next().unwrap_or_default() {
            findings.mistake(
                &beside.at,
                format!("beside the policy in the module, {mistake}"),
            );
        }
    }
}
