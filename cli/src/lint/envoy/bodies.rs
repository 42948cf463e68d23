//! Whether the gate can read the bodies that a policy has it read.

use tidegate_core::policy::Policy;

use super::Findings;
use super::mount::Mount;
use super::parts::Chain;

/// How much Envoy holds of a body where the listener does not say, in bytes.
const DEFAULT_LIMIT: u64 = 1024 * 1024;

pub(super) fn check(
    policy: &Policy,
    chain: &Chain<'_>,
    mount: &Mount<'_>,
    findings: &mut Findings,
) {
    let rules = policy.routes.iter().filter_map(|route| {
        let rule = route.idempotency.as_ref()?;
        rule.reads_body().then_some((&route.name, rule.max_body))
    });
    let Some((route, most)) = rules.max_by_key(|(_, most)| *most) else {
        return;
    };
    let config = &mount.config;
    if !config.has("allow_on_headers_stop_iteration") {
        findings.warn(
            config,
            format!("the route `{route}` has bodies read before a request goes on, and such a request would hang; write `allow_on_headers_stop_iteration: true`"),
        );
    }
    let Some(listener) = &chain.listener else {
        return;
    };
    let own = listener.get("per_connection_buffer_limit_bytes");
    let limit = own.as_ref().and_then(super::node::Node::number);
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if u64::try_from(most).is_ok_and(|most| limit < most) {
        findings.warn(
            own.as_ref().unwrap_or(listener),
            format!("Envoy holds {limit} bytes of a body and answers 413 above, and the `max_body` of the route `{route}` is {most}; write `per_connection_buffer_limit_bytes: {most}`"),
        );
    }
}
