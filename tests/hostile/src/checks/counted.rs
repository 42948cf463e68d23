//! What the gate counts is what happened: its counters, Envoy's access log and what callers got add up.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Broken;
use crate::history::{End, Past};
use crate::policy::NAME as POLICY;

pub(super) const NAME: &str = "every count adds up";

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// `tidegate_decisions`, by rule and outcome.
    pub(crate) decisions: BTreeMap<(String, String), u64>,
    /// How often the access log has each decision.
    pub(crate) logged: BTreeMap<String, u64>,
    pub(crate) replays: u64,
    pub(crate) store_full: u64,
    pub(crate) contended: u64,
}

/// The decisions of the policy in force among Envoy's metrics.
pub(crate) fn decisions(metrics: &str) -> BTreeMap<(String, String), u64> {
    let label = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let lines = metrics
        .lines()
        .filter(|line| line.starts_with("tidegate_decisions{"));
    let ours = lines.filter(|line| label(line, "policy").as_deref() == Some(POLICY));
    ours.filter_map(|line| {
        let (_, value) = line.rsplit_once(' ')?;
        let key = (label(line, "rule")?, label(line, "outcome")?);
        Some((key, value.parse().ok()?))
    })
    .collect()
}

impl Counted {
    /// Counts the decisions in an access log.
    pub(crate) fn log(&mut self, lines: &[Value]) {
        for decision in lines.iter().filter_map(|line| line["decision"].as_str()) {
            *self.logged.entry(decision.to_owned()).or_default() += 1;
        }
    }

    fn of(&self, outcome: &str) -> u64 {
        let all = self.decisions.iter();
        all.filter(|((_, known), _)| known == outcome)
            .map(|(_, count)| count)
            .sum()
    }

    fn refused_by(&self, rule: &str) -> u64 {
        let key = (rule.to_owned(), "refused".to_owned());
        self.decisions.get(&key).copied().unwrap_or(0)
    }
}

/// What is in the log as refused and was counted as allowed: the request went on, and its answer was withheld.
const WITHHELD: [&str; 3] = ["no-answer", "response-owner-mismatch", "route-changed"];

pub(super) fn check(past: &Past, counted: &Counted) -> Vec<Broken> {
    let mut found = Vec::new();
    let mut broken = |what: String| {
        found.push(Broken {
            invariant: NAME,
            what,
            requests: Vec::new(),
        });
    };
    let mut allowed = 0;
    for (decision, logged) in &counted.logged {
        match decision.split_once(':') {
            None if decision == "replayed" => {
                let replayed = counted.of("replayed");
                if replayed != *logged {
                    broken(format!("{logged} replays in the log, {replayed} counted"));
                }
            }
            Some(("refused", rule)) if !WITHHELD.contains(&rule) => {
                let refused = counted.refused_by(rule);
                if refused != *logged {
                    broken(format!(
                        "{logged} refusals by `{rule}` in the log, {refused} counted"
                    ));
                }
            }
            _ => allowed += logged,
        }
    }
    // A request whose caller leaves before the gate has decided has, in the log, the word of the policy that is tried before it.
    let sure = counted.of("allowed");
    if !(sure..=sure + silent(past)).contains(&allowed) {
        let silent = silent(past);
        broken(format!(
            "{allowed} allowed in the log, {sure} counted (and {silent} without an answer)"
        ));
    }
    let refused: u64 = counted
        .decisions
        .iter()
        .filter(|((_, o), _)| o == "refused")
        .map(|(_, n)| n)
        .sum();
    let logged = counted.logged.iter().filter(|(decision, _)| {
        decision
            .strip_prefix("refused:")
            .is_some_and(|rule| !WITHHELD.contains(&rule))
    });
    let logged: u64 = logged.map(|(_, count)| count).sum();
    if refused != logged {
        broken(format!("{logged} refusals in the log, {refused} counted"));
    }
    if counted.replays != counted.of("replayed") {
        let (replays, replayed) = (counted.replays, counted.of("replayed"));
        broken(format!("{replays} replays, and {replayed} decisions to"));
    }
    let reached = past.executions.len() as u64;
    if reached > counted.of("allowed") {
        let allowed = counted.of("allowed");
        broken(format!(
            "{reached} requests at the origin, {allowed} allowed"
        ));
    }
    for (what, got, counted) in callers(past, counted) {
        let silent = silent(past);
        if got > counted || counted > got + silent {
            broken(format!(
                "{what}: callers got {got} (and {silent} no answer), {counted} counted"
            ));
        }
    }
    found
}

/// How many requests have no answer: they may have been counted, or not have come that far.
fn silent(past: &Past) -> u64 {
    let answered = past
        .ends
        .values()
        .filter(|end| matches!(end, End::Answered(_)));
    (past.told.len() - answered.count()) as u64
}

/// What callers got, and what was counted of it.
fn callers(past: &Past, counted: &Counted) -> Vec<(String, u64, u64)> {
    let mut replays = 0;
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for end in past.ends.values() {
        let End::Answered(answer) = end else { continue };
        replays += u64::from(answer.replayed);
        let kind = answer
            .problem
            .as_deref()
            .and_then(|kind| kind.rsplit([':', '#']).next());
        if let Some(kind) = kind.filter(|kind| !WITHHELD.contains(kind)) {
            *refused.entry(kind.to_owned()).or_default() += 1;
        }
    }
    let rules = counted
        .decisions
        .iter()
        .filter(|((_, outcome), _)| outcome == "refused");
    let mut by_kind: BTreeMap<&str, u64> = BTreeMap::new();
    for ((rule, _), count) in rules {
        let kind = match rule.as_str() {
            "tenant-ceiling" | "account" | "charges" | "watched" => "quota-exceeded",
            "store-unavailable" => "temporary-reduced-capacity",
            other => other,
        };
        *by_kind.entry(kind).or_default() += count;
    }
    let kinds = refused
        .keys()
        .map(String::as_str)
        .chain(by_kind.keys().copied());
    let kinds: std::collections::BTreeSet<&str> = kinds.collect();
    let each = kinds.into_iter().map(|kind| {
        let got = refused.get(kind).copied().unwrap_or(0);
        (
            kind.to_owned(),
            got,
            by_kind.get(kind).copied().unwrap_or(0),
        )
    });
    each.chain([("replays".to_owned(), replays, counted.of("replayed"))])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::made::{self, answer, executed, holds, is_broken, told};
    use super::*;
    use crate::history::{Answer, Kind};

    fn past() -> Past {
        Past::default()
            .sent(told(1, 0, Kind::Plain, 0))
            .ran(executed(1, 5))
            .got(1, answer(1, 10))
    }

    fn with(key: (&str, &str), decision: &str, change: impl FnOnce(&mut Counted)) -> Counted {
        let mut counted = made::counted();
        counted
            .decisions
            .insert((key.0.to_owned(), key.1.to_owned()), 1);
        counted.logged.insert(decision.to_owned(), 1);
        change(&mut counted);
        counted
    }

    #[test]
    fn one_request_is_one_count() {
        holds(&check(&past(), &made::counted()));
        is_broken(
            &check(
                &past().sent(told(2, 0, Kind::Plain, 0)).ran(executed(2, 6)),
                &made::counted(),
            ),
            "2 requests at the origin",
        );
    }

    #[test]
    fn counters_are_the_log() {
        let lost = with(("account", "refused"), "refused:account", |counted| {
            counted.logged.remove("refused:account");
        });
        is_broken(
            &check(&past().sent(told(2, 0, Kind::Plain, 0)), &lost),
            "0 refusals in the log, 1 counted",
        );
        let more = with(("none", "replayed"), "replayed", |counted| {
            counted.replays = 2
        });
        is_broken(
            &check(&past().sent(told(2, 0, Kind::Plain, 0)), &more),
            "2 replays, and 1 decisions",
        );
    }

    #[test]
    fn counters_are_what_callers_got_but_for_those_who_left() {
        let refused = with(("account", "refused"), "refused:account", |_| {});
        let left = past().sent(told(2, 0, Kind::Plain, 0));
        holds(&check(&left, &refused));
        let quota = "https://iana.org/assignments/http-problem-types#quota-exceeded";
        let got = Answer {
            status: 429,
            made_for: None,
            problem: Some(quota.to_owned()),
            ..answer(2, 10)
        };
        holds(&check(&left.clone().got(2, got.clone()), &refused));
        is_broken(
            &check(&left.got(2, answer(1, 10)), &refused),
            "quota-exceeded: callers got 0",
        );
        let uncounted = past().sent(told(2, 0, Kind::Plain, 0)).got(2, got);
        is_broken(
            &check(&uncounted, &made::counted()),
            "quota-exceeded: callers got 1",
        );
    }

    #[test]
    fn metrics_are_read_by_their_labels() {
        let text = "tidegate_decisions{policy=\"hostile\",rule=\"account\",outcome=\"refused\"} 3\n\
                    tidegate_decisions{policy=\"candidate\",rule=\"account\",outcome=\"refused\"} 4\n\
                    tidegate_replays{policy=\"hostile\"} 5\n";
        let key = ("account".to_owned(), "refused".to_owned());
        assert_eq!(decisions(text), BTreeMap::from([(key, 3)]));
    }
}
