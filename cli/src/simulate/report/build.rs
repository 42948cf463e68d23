//! From what was counted to the report.

use std::path::Path;

use tidegate_core::policy::Policy;

use super::model::{
    Callers, Differences, Differing, Example, FieldCount, Input, Kind, Report, Route, Rule,
    Simulated, Then, Timeline, Top, TopRule, Totals, Unreadable,
};
use super::tiers;
use crate::simulate::differences;
use crate::simulate::field::{Fields, Target};
use crate::simulate::input::Read;
use crate::simulate::moment;
use crate::simulate::needs;
use crate::simulate::player::Refused;
use crate::simulate::stage::{Act, Stage};
use crate::simulate::statistics::{Span, Statistics};
use crate::simulate::timeline;

/// What a report says beside what was counted.
pub(crate) struct Meta<'a> {
    /// The file of the policy, and of the other one.
    pub(crate) file: &'a Path,
    pub(crate) other: Option<&'a Path>,
    /// The files of the log, or the names of the loads.
    pub(crate) from: Vec<String>,
    pub(crate) generated: bool,
    /// How many callers are listed.
    pub(crate) top: usize,
    /// What share of callers is to be let through, in percent.
    pub(crate) through: f64,
}

/// The report about what happened on a stage.
pub(crate) fn build(stage: &Stage, fields: &Fields, read: Read, meta: &Meta<'_>) -> Report {
    let Stage {
        one: Act { player, statistics },
        other,
        present,
        ..
    } = stage;
    let policy = &player.policy;
    let totals = statistics.totals;
    let mut notes = needs::notes(player, fields, present, meta.generated);
    if stage.late.count > 0 {
        notes.push(format!(
            "{} requests came up to {} late, behind ones that started after them: they were played when they came. \
             Wait longer for them by `--reorder`",
            super::numbers::grouped(stage.late.count),
            moment::length(stage.late.most),
        ));
    }
    let refused = |act: &Act| act.statistics.totals.refused;
    let simulated = |policy: &Policy, file: &Path, refused| Simulated {
        policy: policy.name.clone(),
        version: policy.version.clone(),
        file: file.display().to_string(),
        refused,
    };
    let then = totals.then;
    Report {
        policy: simulated(policy, meta.file, totals.refused),
        against: other
            .as_ref()
            .zip(meta.other)
            .map(|((act, _), file)| simulated(&act.player.policy, file, refused(act))),
        input: input(stage, fields, read, meta),
        notes,
        totals: Totals {
            requests: totals.requests,
            admitted: totals.requests.saturating_sub(totals.refused),
            refused: totals.refused,
            shadow: totals.shadow,
            replayed: totals.replayed,
            overflows: totals.overflows,
        },
        callers: callers(statistics),
        then: (then.known > 0).then_some(Then {
            known: then.known,
            refused: then.refused,
            refused_both_times: then.both,
            refused_only_here: then.only_now,
        }),
        rules: rules(policy, statistics),
        routes: routes(policy, statistics),
        top: top(policy, statistics, meta.top),
        limits: policy
            .limits
            .iter()
            .zip(&statistics.limits)
            .filter(|(_, counts)| counts.asked > 0)
            .map(|(limit, counts)| tiers::limit(limit, counts, meta.through))
            .collect(),
        timeline: spans(&statistics.timeline, columns(policy)),
        differences: other
            .as_ref()
            .map(|(_, found)| self::differences(found, meta.top)),
    }
}

fn input(stage: &Stage, fields: &Fields, read: Read, meta: &Meta<'_>) -> Input {
    let span = stage.clock.saturating_sub(stage.first);
    let beside_time = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| field.target != Target::Time);
    let counts = beside_time.map(|(index, field)| FieldCount {
        field: field.target.to_string(),
        key: field.key.to_string(),
        present: stage.present.of(Some(index)),
    });
    let examples = read.examples.into_iter();
    Input {
        from: meta.from.clone(),
        generated: meta.generated,
        lines: read.lines,
        unreadable: read.unreadable,
        unreadable_examples: examples
            .map(|(file, line, reason)| Unreadable { file, line, reason })
            .collect(),
        late: stage.late.count,
        late_by_seconds: moment::seconds(stage.late.most),
        late_by: stage.late.most,
        first: moment::shown(stage.first),
        last: moment::shown(stage.clock),
        seconds: moment::seconds(span),
        span,
        fields: counts.collect(),
    }
}

fn callers(statistics: &Statistics) -> Callers {
    let callers = &statistics.callers;
    let refused = callers.values().filter(|refused| **refused).count();
    Callers {
        seen: callers.total(),
        refused: u64::try_from(refused)
            .unwrap_or(u64::MAX)
            .saturating_mul(callers.each()),
        exact: callers.each() == 1,
    }
}

fn rules(policy: &Policy, statistics: &Statistics) -> Vec<Rule> {
    let moment = |span: Span, time: u64| (span.count > 0).then(|| moment::shown(time));
    let limits = policy.limits.iter().zip(&statistics.limits);
    let limits = limits
        .filter(|(_, counts)| counts.asked > 0)
        .map(|(limit, counts)| Rule {
            rule: limit.name.clone(),
            limit: true,
            shadow: limit.shadow,
            asked: Some(counts.asked),
            refused: counts.refused.count,
            first_to_refuse: counts.first,
            first: moment(counts.refused, counts.refused.first),
            last: moment(counts.refused, counts.refused.last),
        });
    let others = statistics.rules.iter().map(|(rule, span)| Rule {
        rule: (*rule).to_owned(),
        limit: false,
        shadow: false,
        asked: None,
        refused: span.count,
        first_to_refuse: span.count,
        first: moment(*span, span.first),
        last: moment(*span, span.last),
    });
    limits.chain(others).collect()
}

fn routes(policy: &Policy, statistics: &Statistics) -> Vec<Route> {
    let names = policy.routes.iter().map(|route| Some(route.name.clone()));
    let counted = names.chain([None]).zip(&statistics.routes);
    counted
        .filter(|(_, counts)| counts.requests > 0)
        .map(|(route, counts)| Route {
            route,
            requests: counts.requests,
            refused: counts.refused,
        })
        .collect()
}

fn top(policy: &Policy, statistics: &Statistics, most: usize) -> Vec<Top> {
    let name = |refused: Refused| match refused {
        Refused::Limit(limit) => policy
            .limits
            .get(limit)
            .map_or("", |limit| &limit.name)
            .to_owned(),
        Refused::Rule(rule) => rule.to_owned(),
    };
    let one = |counted: &crate::simulate::heavy::Counted<crate::simulate::statistics::Sufferer>| {
        let sufferer = &counted.value;
        let mut rules = sufferer.rules.clone();
        rules.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Top {
            caller: sufferer.caller.clone(),
            requests: sufferer.requests,
            refused: counted.count,
            refused_error: counted.error,
            first: moment::shown(sufferer.first),
            last: moment::shown(sufferer.last),
            longest_seconds: moment::seconds(sufferer.longest),
            rules: rules
                .into_iter()
                .map(|(rule, refused)| TopRule {
                    rule: name(rule),
                    refused,
                })
                .collect(),
            times: (sufferer.first, sufferer.last, sufferer.longest),
        }
    };
    statistics
        .sufferers
        .top(most)
        .into_iter()
        .map(one)
        .collect()
}

fn columns(policy: &Policy) -> Vec<String> {
    let words = ["admitted", "other rules"].map(str::to_owned);
    words
        .into_iter()
        .chain(policy.limits.iter().map(|limit| limit.name.clone()))
        .collect()
}

fn spans(timeline: &timeline::Timeline, columns: Vec<String>) -> Timeline {
    Timeline {
        start: moment::shown(timeline.start()),
        span_seconds: moment::seconds(timeline.width()),
        columns,
        spans: timeline.spans().map(<[u64]>::to_vec).collect(),
        from: timeline.start(),
        width: timeline.width(),
    }
}

fn differences(found: &differences::Differences, most: usize) -> Differences {
    let [stricter, looser, other] = found.counts;
    let word = |says| found.word(says).to_owned();
    let mut kinds: Vec<Kind> = found
        .kinds
        .iter()
        .map(|((here, there), requests)| Kind {
            here: word(*here),
            there: word(*there),
            requests: *requests,
        })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.requests));
    let top = found.callers.top(most).into_iter().map(|counted| {
        let (caller, [stricter, looser, other]) = &counted.value;
        Differing {
            caller: caller.clone(),
            stricter: *stricter,
            looser: *looser,
            other: *other,
        }
    });
    let examples = found.examples.iter().map(|example| Example {
        time: moment::shown(example.now),
        direction: example.direction,
        caller: example.caller.clone(),
        method: example.method.clone(),
        path: example.path.clone(),
        here: word(example.says.0),
        there: word(example.says.1),
    });
    let columns = ["stricter", "looser", "other", "same"].map(str::to_owned);
    Differences {
        same: found.same,
        stricter,
        looser,
        other,
        kinds,
        top: top.collect(),
        examples: examples.collect(),
        timeline: spans(&found.timeline, columns.to_vec()),
    }
}
