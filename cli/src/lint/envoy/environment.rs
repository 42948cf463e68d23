//! The keys that a policy needs in the environment of the gate's VM.

use tidegate_core::policy::{Policy, Scope};

use super::Findings;
use super::mount::Mount;

/// The key of cache scopes.
const SCOPE_KEY: &str = "TIDEGATE_SCOPE_KEY";

pub(super) fn check(policy: &Policy, mount: &Mount<'_>, findings: &mut Findings) {
    let config = &mount.config;
    let place = config.get("vm_config").unwrap_or_else(|| config.clone());
    if let Some(rule) = &policy.identity.address.signed
        && !mount.has_variable(&rule.key_env)
    {
        let name = &rule.key_env;
        findings.mistake(
            &place,
            format!("`environment_variables` has no `{name}`, the key of signed addresses, and the gate would not start; name it under `host_env_keys`"),
        );
    }
    let caches = policy
        .routes
        .iter()
        .filter_map(|route| route.cache.as_ref());
    let scoped = { caches }.any(|cache| cache.scope != Scope::Public);
    if scoped && !mount.has_variable(SCOPE_KEY) {
        findings.warn(
            &place,
            format!("`environment_variables` has no `{SCOPE_KEY}`, so that anybody could make the marker of another caller's copies; name it under `host_env_keys`"),
        );
    }
}
