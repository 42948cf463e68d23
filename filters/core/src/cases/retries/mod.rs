//! Whether Envoy would send a request again by itself that the policy makes once (A41): its `retry_policy` and
//! `hedge_policy` act behind the gate, where one claim of a record stands for one request.

mod json;
mod overlap;

use serde_json::Value;

pub use self::json::get as envoy_member;
use self::json::{array, get, path, text, with};
use self::overlap::Taken;
use crate::policy::{By, Idempotency, Mistake, Policy, Route, Step, UnknownRule};

/// The conditions under which Envoy tries again what no origin has seen.
const HARMLESS: [&str; 3] = ["connect-failure", "refused-stream", "reset-before-request"];

/// What in an Envoy configuration (a bootstrap, a listener, a route configuration: anything with `virtual_hosts` somewhere in it)
/// would send requests again by itself whose routes in the policy have idempotency.
///
/// Which requests an Envoy route takes is told by its domains, its path and its method; where that is not known, as with regular
/// expressions, it counts as all of them. Events count where the policy holds those whose outcome is unknown.
pub fn retries(policy: &Policy, envoy: &Value) -> Vec<Mistake> {
    let once: Vec<&Route> = policy
        .routes
        .iter()
        .filter(|route| route.idempotency.as_ref().is_some_and(once))
        .collect();
    let mut warnings = Vec::new();
    if !once.is_empty() {
        walk(&once, envoy, &[], &mut warnings);
    }
    warnings
}

/// Whether a second attempt that nobody asked for breaks the rule.
fn once(rule: &Idempotency) -> bool {
    matches!(rule.by, By::Key { .. }) || rule.unknown == UnknownRule::Hold
}

/// Looks for virtual hosts, wherever they are.
fn walk(once: &[&Route], value: &Value, at: &[Step], warnings: &mut Vec<Mistake>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let at = with(at, Step::Key(key.clone()));
                if matches!(key.as_str(), "virtual_hosts" | "virtualHosts") {
                    for (index, host) in array(member).iter().enumerate() {
                        virtual_host(once, host, &with(&at, Step::Index(index)), warnings);
                    }
                } else {
                    walk(once, member, &at, warnings);
                }
            }
        }
        Value::Array(members) => {
            for (index, member) in members.iter().enumerate() {
                walk(once, member, &with(at, Step::Index(index)), warnings);
            }
        }
        _ => {}
    }
}

/// The two ways in which Envoy sends a request more than once.
const POLICIES: [&str; 2] = ["retry_policy", "hedge_policy"];

fn virtual_host(once: &[&Route], host: &Value, at: &[Step], warnings: &mut Vec<Mistake>) {
    // Those of the host hold for its routes that have none of their own.
    let mut inherited: [Vec<&str>; POLICIES.len()] = Default::default();
    let Some((routes_key, routes)) = get(host, "routes") else {
        return;
    };
    let at_routes = with(at, Step::Key(routes_key));
    for (index, route) in array(routes).iter().enumerate() {
        // A redirect or a direct response leads nowhere.
        let Some((action_key, action)) = get(route, "route") else {
            continue;
        };
        let taken = Taken::new(host, route);
        let names: Vec<&str> = once
            .iter()
            .filter(|own| taken.may_meet(own))
            .map(|own| own.name.as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        for (policy, inherited) in POLICIES.into_iter().zip(&mut inherited) {
            match get(action, policy) {
                Some((key, value)) => {
                    let at = with(&at_routes, Step::Index(index));
                    let at = with(&with(&at, Step::Key(action_key.clone())), Step::Key(key));
                    warnings.extend(warning(policy, value, &names, &at));
                }
                None => inherited.extend(
                    names
                        .iter()
                        .filter(|n| !inherited.contains(n))
                        .collect::<Vec<_>>(),
                ),
            }
        }
    }
    for (policy, names) in POLICIES.into_iter().zip(&inherited) {
        if let Some((key, value)) = get(host, policy)
            && !names.is_empty()
        {
            warnings.extend(warning(policy, value, names, &with(at, Step::Key(key))));
        }
    }
}

/// What is to be said of a policy that holds for requests of these routes; `None` if it does no harm.
fn warning(policy: &str, value: &Value, names: &[&str], at: &[Step]) -> Option<Mistake> {
    let routes = match names {
        [name] => format!("the route `{name}`"),
        _ => format!("the routes `{}`", names.join("`, `")),
    };
    let message = if policy == "hedge_policy" {
        let (_, hedges) = get(value, "hedge_on_per_try_timeout")?;
        if *hedges != Value::Bool(true) {
            return None;
        }
        format!(
            "on `hedge_on_per_try_timeout` Envoy sends a request of {routes} a second time while the first one runs, though its record is for one; leave `hedge_policy` out for it"
        )
    } else {
        let on = get(value, "retry_on").and_then(|(_, on)| text(on))?;
        let harmful: Vec<&str> = on
            .split(',')
            .map(str::trim)
            .filter(|condition| !condition.is_empty() && !HARMLESS.contains(condition))
            .collect();
        if harmful.is_empty() {
            return None;
        }
        format!(
            "on `{}` Envoy sends a request of {routes} again that the origin may have carried out, though its record is for one; leave `retry_policy` out for it, or retry on `{}` alone",
            harmful.join("`, `"),
            HARMLESS.join(",")
        )
    };
    Some(Mistake {
        path: path(at),
        message,
    })
}
