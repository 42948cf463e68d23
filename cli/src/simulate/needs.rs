//! What a policy goes by that the log does not have: said plainly, for a simulation without it is of another policy.

use tidegate_core::policy::{
    Anonymous, Cost, Dimension, Limit, LimitId, Mode, Policy, SanType, Source, SourceKind,
};

use super::field::{Fields, Target};
use super::player::Player;

/// How often each field of a log had a value.
#[derive(Debug, Clone)]
pub(crate) struct Present {
    counts: Vec<u64>,
}

impl Present {
    pub(crate) fn new(fields: &Fields) -> Self {
        Self {
            counts: vec![0; fields.len()],
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, record: &super::record::Record) {
        for (count, present) in self.counts.iter_mut().zip(record.present()) {
            *count = count.wrapping_add(u64::from(present));
        }
    }

    /// How often a field had a value.
    pub(crate) fn of(&self, field: Option<usize>) -> u64 {
        field
            .and_then(|field| self.counts.get(field))
            .copied()
            .unwrap_or(0)
    }
}

/// What has to be said before anything else, of a policy's `player` and a log in which these fields had values.
/// `limits` are those of the policy as it was written.
pub(crate) fn notes(
    player: &Player,
    fields: &Fields,
    present: &Present,
    generated: bool,
) -> Vec<String> {
    let policy = &player.policy;
    let mut notes = Vec::new();
    let log = if generated { "load" } else { "log" };
    let identity = &policy.identity;
    for (part, sources) in identity.parts() {
        let known = sources
            .iter()
            .any(|s| present.of(player.presenter.field_of(s)) > 0);
        let users = users(policy, &part);
        if sources.is_empty() || known || users.is_empty() {
            continue;
        }
        let hint = if generated {
            format!("name the {part} in the load")
        } else {
            hint(&part, sources)
        };
        notes.push(format!(
            "{} by {part}, and the {log} never says which: {} {hint}",
            go(&users),
            stands_in(policy, &part),
        ));
    }
    let address = fields.find(&Target::Address);
    let by_address = users(policy, &Dimension::Address);
    if !by_address.is_empty() && present.of(address) == 0 {
        notes.push(format!(
            "{} by address, and the {log} never says which: whoever is told by nothing else is refused. \
             Add `client: \"%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%\"` to Envoy's log format, or name yours by `--field address=KEY`",
            go(&by_address)
        ));
    }
    if identity.address.signed.is_some() {
        notes.push(format!("addresses are passed in a signed header, which no log shows: the {log}'s are taken as they are"));
    }
    let host = users(policy, &Dimension::Host);
    let hosts = policy
        .routes
        .iter()
        .any(|route| route.matcher.host.is_some());
    if (hosts || !host.is_empty()) && present.of(fields.find(&Target::Host)) == 0 {
        notes.push(format!(
            "the policy goes by host, and the {log} never says which: routes with a `host` take nothing. \
             Add `host: \"%REQ(:AUTHORITY)%\"` to Envoy's log format, or name yours by `--field host=KEY`"
        ));
    }
    headers(player, present, log, &mut notes);
    for (target, name) in [(Target::Method, "method"), (Target::Path, "path")] {
        if !policy.routes.is_empty() && present.of(fields.find(&target)) == 0 {
            let taken = if target == Target::Method { "GET" } else { "/" };
            notes.push(format!("the {log} never says the {name}: `{taken}` was taken; name it by `--field {name}=KEY`"));
        }
    }
    if !player.unrecorded.is_empty() {
        notes.push(format!(
            "what was done already is not simulated on {}: the {log} does not have the key or event that tells it. \
             Its requests count as new; name a field by `--field header:NAME=KEY`",
            list("route", &player.unrecorded)
        ));
    }
    if policy.mode == Mode::Shadow {
        notes.push("the policy is in shadow: what is called refused here is let through by Envoy, and counted".to_owned());
    }
    notes
}

/// Headers that routes and limits go by.
fn headers(player: &Player, present: &Present, log: &str, notes: &mut Vec<String>) {
    let policy = &player.policy;
    let mut names: Vec<(&str, &str)> = Vec::new();
    for route in &policy.routes {
        names.extend(
            route
                .matcher
                .headers
                .iter()
                .map(|(name, _)| (name.as_str(), "routes that ask for it take nothing")),
        );
        if let Cost::Header { name, .. } = &route.cost {
            names.push((name.as_str(), "its requests cost what they cost without it"));
        }
    }
    for limit in used(policy) {
        for dimension in &limit.per {
            if let Dimension::Header(name) = dimension {
                names.push((name.as_str(), "what stands in for it was taken"));
            }
        }
    }
    names.sort_unstable();
    names.dedup_by_key(|(name, _)| *name);
    for (name, effect) in names {
        if present.of(player.presenter.field_of_header(name)) == 0 {
            notes.push(format!(
                "the policy goes by the header `{name}`, and the {log} never has it: {effect}. \
                 Name its field by `--field header:{name}=KEY`"
            ));
        }
    }
}

/// The limits that anything uses.
fn used(policy: &Policy) -> impl Iterator<Item = &Limit> {
    let routes = policy.routes.iter().flat_map(|route| &route.limits);
    let mut ids: Vec<LimitId> = policy.always.iter().chain(routes).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().filter_map(|id| policy.limits.get(id.0))
}

/// What goes by a dimension: the limits by name, and routes that ask for an account.
fn users(policy: &Policy, dimension: &Dimension) -> Vec<String> {
    let goes_by = |limit: &&Limit| {
        limit.per.contains(dimension)
            || match dimension {
                Dimension::Plan => !limit.plans.is_empty(),
                Dimension::Tenant => !limit.tenant_overrides.is_empty(),
                Dimension::Account => !limit.account_overrides.is_empty(),
                _ => false,
            }
    };
    let limits = used(policy)
        .filter(goes_by)
        .map(|limit| format!("limit `{}`", limit.name));
    let asks = |deny| deny == Anonymous::Deny && *dimension == Dimension::Account;
    let routes = policy.routes.iter().filter(|route| asks(route.anonymous));
    limits
        .chain(routes.map(|route| format!("route `{}`", route.name)))
        .collect()
}

/// What is done where a part of the identity is absent.
fn stands_in(policy: &Policy, part: &Dimension) -> String {
    if *part == Dimension::Plan {
        return "everybody had the quota without a plan.".to_owned();
    }
    let mut stand_ins: Vec<String> = used(policy)
        .filter(|limit| limit.per.contains(part))
        .map(|limit| format!("`{}`", limit.otherwise))
        .collect();
    stand_ins.sort_unstable();
    stand_ins.dedup();
    let deny = policy
        .routes
        .iter()
        .any(|route| route.anonymous == Anonymous::Deny);
    let refused = if deny && *part == Dimension::Account {
        "; routes with `\"anonymous\": \"deny\"` refused everybody"
    } else {
        ""
    };
    match stand_ins.as_slice() {
        [] => format!("nobody had a quota of their own{refused}."),
        _ => format!("{} stood in{refused}.", stand_ins.join(" or ")),
    }
}

/// How to have Envoy log a part of the identity.
fn hint(part: &Dimension, sources: &[Source]) -> String {
    let Some(source) = sources.first() else {
        return String::new();
    };
    let operator = match &source.kind {
        SourceKind::Jwt { claim, payload } => {
            let path = claim.replace('.', ":");
            format!("%DYNAMIC_METADATA(envoy.filters.http.jwt_authn:{payload}:{path})%")
        }
        _ if source.secret => {
            return format!(
                "It is a secret: do not log it. Log a name that stands for it, such as one that the origin answers with \
                 (`{part}: \"%RESP(X-ACCOUNT-ID)%\"`)"
            );
        }
        SourceKind::Header(name) => format!("%REQ({})%", name.to_ascii_uppercase()),
        SourceKind::Query(name) => format!("%QUERY_PARAM({name})%"),
        SourceKind::Cookie(_) => "%REQ(COOKIE)%".to_owned(),
        SourceKind::San(SanType::Uri) => "%DOWNSTREAM_PEER_URI_SAN%".to_owned(),
        SourceKind::San(SanType::Dns) => "%DOWNSTREAM_PEER_DNS_SAN%".to_owned(),
    };
    if let SourceKind::Cookie(name) = &source.kind {
        return format!(
            "Log a name that stands for the cookie `{name}` and name its field by `--field {part}=KEY`"
        );
    }
    format!(
        "Add `{part}: \"{operator}\"` to Envoy's log format, or name yours by `--field {part}=KEY`"
    )
}

/// `limit `a` and route `b` go`, `limit `a` goes`.
fn go(users: &[String]) -> String {
    match users {
        [one] => format!("{one} goes"),
        [all @ .., last] => format!("{} and {last} go", all.join(", ")),
        [] => String::new(),
    }
}

/// `route `a``, `routes `a`, `b``.
fn list(noun: &str, names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let ending = if names.len() == 1 { "" } else { "s" };
    format!("{noun}{ending} {}", quoted.join(", "))
}
