//! An explanation as a person reads it.

use tidegate_core::cases::explain::{
    Answered, Copy, Cost, Explanation, KeyPart, Limit, Part, Record, Route, Said, Share, Who,
};
use tidegate_core::route::Missed;

use crate::output::{BAD, CAUTION, GOOD, QUIET, count};

/// The lines of an explanation.
pub(crate) fn words(explanation: &Explanation) -> Vec<String> {
    let Explanation {
        policy,
        version,
        mode,
        after,
        at_ms,
        method,
        host,
        path,
        reserved,
        who,
        canary,
        routes,
        route,
        cost,
        limits,
        record,
        copy,
        answer,
    } = explanation;
    let mut lines = vec![
        format!("{method} {host}{path}"),
        format!("policy `{policy}` {version}, in mode {mode}"),
        format!(
            "at {at_ms} ms, {} like it before",
            count(usize::try_from(*after).unwrap_or(0), "request")
        ),
    ];
    let mut section = |name: &str, inside: Vec<String>| {
        lines.push(String::new());
        lines.push(name.to_owned());
        lines.extend(inside.into_iter().map(|line| format!("  {line}")));
    };
    if let Some(name) = reserved {
        section(
            "reserved name",
            vec![format!("`{name}` is ours alone; nothing else is looked at")],
        );
    }
    section("identity", identity(who));
    if let Some(share) = canary {
        section("canary", vec![self::share(share)]);
    }
    section("route", self::routes(routes, route.as_deref()));
    section("cost", vec![self::cost(cost)]);
    section("limits", self::limits(limits));
    if let Some(record) = record {
        section("record", self::record(record));
    }
    if let Some(copy) = copy {
        section("copy", self::copy(copy));
    }
    section("answer", self::answer(answer));
    lines
}

fn share(share: &Share) -> String {
    let Share {
        percent,
        by,
        inside,
    } = share;
    let place = if *inside && *percent == 100 {
        "everybody is in the share, so the policy is enforced; as a canary it leaves caches alone"
    } else if *inside {
        "inside the share, so the policy is enforced"
    } else {
        "outside the share, so the policy is in shadow"
    };
    let by = by.join(", ");
    format!("{place} ({percent} of a hundred callers, told apart by {by})")
}

fn identity(who: &Who) -> Vec<String> {
    let Who {
        tenant,
        account,
        plan,
        address,
        fault,
    } = who;
    let mut lines = vec![
        part("tenant", tenant),
        part("account", account),
        part("plan", plan),
    ];
    lines.push(match address {
        None => "address  unknown".to_owned(),
        Some(address) => match &address.header {
            Some(header) => format!("address  {}, signed in header {header}", address.value),
            None => format!("address  {}, of the connection", address.value),
        },
    });
    if let Some(fault) = fault {
        lines.push(format!("{BAD}refused{BAD:#}: {fault}"));
    }
    lines
}

fn part(name: &str, part: &Part) -> String {
    let Part {
        value,
        source,
        issuer,
        absent,
    } = part;
    let absent = match absent.as_slice() {
        [] => String::new(),
        names => format!("{QUIET} ({} absent){QUIET:#}", names.join(", ")),
    };
    let found = match (value, source) {
        (Some(value), Some(source)) => {
            let issuer = issuer.as_ref();
            let issuer = issuer.map_or_else(String::new, |name| format!(" of issuer {name}"));
            format!("{value}, from {source}{issuer}")
        }
        _ => "nobody".to_owned(),
    };
    format!("{name:<8} {found}{absent}")
}

fn routes(routes: &[Route], taken: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = routes
        .iter()
        .map(|route| match &route.missed {
            None => format!("`{}` {GOOD}takes it{GOOD:#}", route.name),
            Some(why) => {
                let why = match why {
                    Missed::Method => "another method".to_owned(),
                    Missed::Path => "another path".to_owned(),
                    Missed::Host => "another host".to_owned(),
                    Missed::Header(name) => {
                        format!("header {name} is not there once with its value")
                    }
                };
                format!("`{}` does not: {why}", route.name)
            }
        })
        .collect();
    if taken.is_none() {
        lines.push("no route takes it; the limits of `always` hold".to_owned());
    }
    lines
}

fn cost(cost: &Cost) -> String {
    match (cost.units, &cost.header) {
        (Some(units), None) => format!("{units} of each bucket"),
        (Some(units), Some(header)) => format!("{units} of each bucket, by header {header}"),
        (None, header) => format!(
            "header {} does not hold one number",
            header.as_deref().unwrap_or_default()
        ),
    }
}

fn limits(limits: &[Limit]) -> Vec<String> {
    if limits.is_empty() {
        return vec!["none holds".to_owned()];
    }
    limits
        .iter()
        .flat_map(|limit| {
            let Limit {
                name,
                always,
                shadow,
                key,
                quota,
                said,
                before,
                left,
            } = limit;
            let from = if *always { "always" } else { "of the route" };
            let shadow = if *shadow { ", in shadow" } else { "" };
            let units = match (before, left) {
                (Some(before), Some(left)) => format!("{before} before, {left} left"),
                _ => "not looked at".to_owned(),
            };
            let verdict = match said {
                Said::Room => format!("{GOOD}has room{GOOD:#}"),
                Said::WaitMs(wait) => format!("{BAD}refuses{BAD:#} for {wait} ms"),
                Said::Never => format!("{BAD}never{BAD:#} holds so much"),
                Said::Failed => format!("{BAD}could not be asked{BAD:#}"),
                Said::NotAsked => "not asked".to_owned(),
                Said::LeftOut => {
                    "left out: the account is absent, and the route allows that".to_owned()
                }
            };
            [
                format!("`{name}` ({from}{shadow}) {verdict}"),
                format!("  bucket of {}", self::key(key)),
                format!(
                    "  {}, burst {} (of the {}): {units}",
                    quota.rate, quota.burst, quota.from
                ),
            ]
        })
        .collect()
}

fn key(parts: &[KeyPart]) -> String {
    let shown = |part: &KeyPart| part.value.clone().unwrap_or_else(|| "nothing".to_owned());
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match &part.instead {
            None => format!("{} {}", part.dimension, shown(part)),
            Some(instead) => format!(
                "{} {} in place of an absent {}",
                instead.dimension,
                shown(instead),
                part.dimension
            ),
        })
        .collect();
    parts.join(", ")
}

fn record(record: &Record) -> Vec<String> {
    let Record {
        by,
        key,
        fingerprint,
        fingerprint_digest,
        turn,
        detached,
    } = record;
    let mut lines = Vec::new();
    if key.is_empty() {
        lines.push(format!("no {by} tells this request from others"));
    } else {
        let parts: Vec<String> = key
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        lines.push(format!("by {by}: {}", parts.join(", ")));
    }
    if let Some(fingerprint) = fingerprint {
        let digest = fingerprint_digest.as_ref();
        let digest = digest.map_or_else(String::new, |digest| format!(" ({digest})"));
        lines.push(format!(
            "the same request has the same {fingerprint}{digest}"
        ));
    }
    lines.push(match *turn {
        "runs" if *detached => "it is new: it runs, and goes on without its client".to_owned(),
        "runs" => "it is new: it runs, and its answer is kept".to_owned(),
        "replayed" => {
            "it was done before: the answer to that is sent again, and nothing is charged"
                .to_owned()
        }
        "refused" => "it does not run".to_owned(),
        _ => "it goes on, and nothing is kept of it".to_owned(),
    });
    lines
}

fn copy(copy: &Copy) -> Vec<String> {
    let Copy {
        cache,
        scope,
        host,
        path,
        marker,
        reason,
    } = copy;
    let mut lines = vec![match (*cache, reason) {
        ("scoped", _) => format!("of those who share {}", key(scope)),
        ("public", _) => "everybody's".to_owned(),
        (_, Some(reason)) => format!("none: {reason}"),
        (_, None) => "none".to_owned(),
    }];
    if let (Some(host), Some(path)) = (host, path) {
        let marker = marker.as_ref();
        let marker = marker.map_or_else(String::new, |m| format!(", x-tidegate-scope {m}"));
        lines.push(format!("a cache keeps it under {host}{path}{marker}"));
        lines.push(format!(
            "{QUIET}(markers are made without TIDEGATE_SCOPE_KEY here){QUIET:#}"
        ));
    }
    lines
}

fn answer(answer: &Answered) -> Vec<String> {
    let Answered {
        by,
        status,
        rule,
        shadow,
        headers,
        problem,
    } = answer;
    let mut lines = vec![match (*by, rule) {
        ("gate", Some(rule)) => format!("{BAD}{status}{BAD:#} from the gate, by the rule `{rule}`"),
        ("record", _) => format!("{GOOD}{status}{GOOD:#} from the record; the origin is not asked"),
        (by, _) => format!("{GOOD}{status}{GOOD:#} from the {by}, which gets the request"),
    }];
    if let Some(rule) = shadow {
        lines.push(format!(
            "{CAUTION}in shadow{CAUTION:#}: `{rule}` would refuse it"
        ));
    }
    lines.extend(
        headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    if let Some(problem) = problem {
        lines.push(problem.to_string());
    }
    lines
}
