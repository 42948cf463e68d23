//! What the gate counts is what happened: its counters, Envoy's access log and what callers got add up.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Broken;
use crate::history::{Answer, End, Past};
use crate::policy::NAME as POLICY;

pub(super) const NAME: &str = "every count adds up";

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// `tidegate_decisions`, by rule and outcome.
    pub(crate) decisions: BTreeMap<(String, String), u64>,
    /// The lines of the access log that have a decision: the request's number, and what was decided.
    pub(crate) logged: Vec<(Option<u64>, String)>,
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
    /// Reads an access log.
    pub(crate) fn log(&mut self, lines: &[Value]) {
        let decided = lines.iter().filter_map(|line| {
            let number = line["number"]
                .as_str()
                .and_then(|number| number.parse().ok());
            Some((number, line["decision"].as_str()?.to_owned()))
        });
        self.logged.extend(decided);
    }

    fn of(&self, outcome: &str) -> u64 {
        let all = self.decisions.iter();
        all.filter(|((_, known), _)| known == outcome)
            .map(|(_, count)| count)
            .sum()
    }
}

/// What is in the log as refused and was counted as allowed: the request went on, and its answer was withheld.
const WITHHELD: [&str; 3] = ["no-answer", "response-owner-mismatch", "route-changed"];

/// The limits, whose refusals are problems of one type.
const LIMITS: [&str; 3] = ["tenant-ceiling", "account", "charges"];

/// What became of a request by a decision in the log, as the counters have it: an outcome and its rule.
fn counted_as(decision: &str) -> (&str, &str) {
    match decision.split_once(':') {
        None if decision == "replayed" => ("replayed", "none"),
        Some(("refused", rule)) if !WITHHELD.contains(&rule) => ("refused", rule),
        _ => ("allowed", "none"),
    }
}

pub(super) fn check(past: &Past, counted: &Counted) -> Vec<Broken> {
    let mut found = Vec::new();
    let mut broken = |what: String, requests: Vec<u64>| {
        found.push(Broken {
            invariant: NAME,
            what,
            requests,
        });
    };
    let executed: BTreeSet<u64> = past.executions.iter().map(|one| one.number).collect();
    // What is counted for sure, and what may be: a request whose caller leaves before the gate has decided has, in the log, the
    // word of the policy that is tried before it.
    let mut sure: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut doubtful = 0;
    let mut seen = BTreeSet::new();
    for (number, decision) in &counted.logged {
        let (outcome, rule) = counted_as(decision);
        let told = number.filter(|number| past.told.contains_key(number));
        let Some(number) = told else {
            broken(
                format!("`{decision}` is logged of a request that nobody sent"),
                Vec::new(),
            );
            continue;
        };
        if !seen.insert(number) {
            broken(
                format!("`{decision}` is logged of a request that was logged before"),
                vec![number],
            );
        }
        let end = past.ends.get(&number);
        let answered = matches!(end, Some(End::Answered(_)));
        if outcome == "allowed" && !answered && !executed.contains(&number) {
            doubtful += 1;
        } else {
            *sure.entry((outcome, rule)).or_default() += 1;
        }
        if let Some(End::Answered(answer)) = end
            && let Some(got) = got(answer)
            && !agree(got, outcome, rule)
        {
            broken(
                format!("`{decision}` is logged, and the caller got `{got}`"),
                vec![number],
            );
        }
    }
    for number in executed.difference(&seen) {
        broken(
            "it reached the origin, and no decision is logged".to_owned(),
            vec![*number],
        );
    }
    let keys = counted
        .decisions
        .keys()
        .map(|(rule, outcome)| (outcome.as_str(), rule.as_str()));
    let keys: BTreeSet<_> = keys.chain(sure.keys().copied()).collect();
    for (outcome, rule) in keys {
        if !["allowed", "replayed", "refused"].contains(&outcome) {
            continue;
        }
        let logged = sure.get(&(outcome, rule)).copied().unwrap_or(0);
        let more = if outcome == "allowed" { doubtful } else { 0 };
        let key = (rule.to_owned(), outcome.to_owned());
        let count = counted.decisions.get(&key).copied().unwrap_or(0);
        if !(logged..=logged + more).contains(&count) {
            broken(
                format!(
                    "`{outcome}` by `{rule}`: {logged} in the log (and {more} of which it is not sure), {count} counted"
                ),
                Vec::new(),
            );
        }
    }
    if counted.replays != counted.of("replayed") {
        let (replays, replayed) = (counted.replays, counted.of("replayed"));
        broken(
            format!("{replays} replays, and {replayed} decisions to"),
            Vec::new(),
        );
    }
    found
}

/// What an answer shows of the decision: the end of a problem's type, or that it is a replay, or came from elsewhere.
fn got(answer: &Answer) -> Option<&str> {
    if answer.replayed {
        return Some("replayed");
    }
    let kind = answer.problem.as_deref()?.rsplit([':', '#']).next()?;
    (!WITHHELD.contains(&kind)).then_some(kind)
}

fn agree(got: &str, outcome: &str, rule: &str) -> bool {
    match (got, outcome) {
        ("replayed", outcome) => outcome == "replayed",
        ("quota-exceeded", "refused") => LIMITS.contains(&rule),
        ("temporary-reduced-capacity", "refused") => rule == "store-unavailable",
        (kind, "refused") => kind == rule,
        _ => false,
    }
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

    /// A second request, that was refused by its account's limit, as it is counted, logged and told.
    fn refused(change: impl FnOnce(&mut Past, &mut Counted)) -> Vec<Broken> {
        let mut counted = made::counted();
        let key = ("account".to_owned(), "refused".to_owned());
        counted.decisions.insert(key, 1);
        counted.logged.push((Some(2), "refused:account".to_owned()));
        let quota = "https://iana.org/assignments/http-problem-types#quota-exceeded";
        let got = Answer {
            status: 429,
            made_for: None,
            problem: Some(quota.to_owned()),
            ..answer(2, 10)
        };
        let mut past = past().sent(told(2, 0, Kind::Plain, 0)).got(2, got);
        change(&mut past, &mut counted);
        check(&past, &counted)
    }

    #[test]
    fn what_is_counted_logged_and_told_is_one() {
        holds(&check(&past(), &made::counted()));
        holds(&refused(|_, _| {}));
        is_broken(
            &refused(|_, counted| counted.decisions.clear()),
            "1 in the log (and 0",
        );
        is_broken(
            &refused(|_, counted| _ = counted.logged.pop()),
            "0 in the log (and 0",
        );
        let twice = refused(|_, counted| counted.logged.push((Some(2), "allowed".to_owned())));
        is_broken(&twice, "was logged before");
        let other = refused(|past, _| {
            _ = past.ends.insert(
                2,
                End::Answered(Answer {
                    replayed: true,
                    ..answer(1, 10)
                }),
            );
        });
        is_broken(&other, "the caller got `replayed`");
    }

    #[test]
    fn what_nobody_sent_is_not_counted_and_what_ran_is() {
        is_broken(
            &refused(|past, _| _ = past.told.remove(&2)),
            "that nobody sent",
        );
        let ran = past().sent(told(2, 0, Kind::Plain, 0)).ran(executed(2, 6));
        is_broken(&check(&ran, &made::counted()), "no decision is logged");
    }

    #[test]
    fn who_leaves_early_may_not_have_been_decided_about() {
        let left = past().sent(told(2, 0, Kind::Plain, 0));
        let mut counted = made::counted();
        counted.logged.push((Some(2), "allowed".to_owned()));
        holds(&check(&left, &counted));
        is_broken(
            &check(&left.got(2, answer(2, 9)), &counted),
            "2 in the log (and 0",
        );
    }

    #[test]
    fn a_replay_is_counted_twice() {
        is_broken(
            &refused(|_, counted| counted.replays = 2),
            "2 replays, and 0 decisions",
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
