//! The report as text, for a terminal.

use std::fmt::Display;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::model::{Differences, Limit, Report, Tier, Top};
use super::numbers::{grouped, percent};
use crate::output::{BAD, CAUTION, GOOD, Output, QUIET};
use crate::simulate::moment;

/// How many points of a curve are shown.
const POINTS: usize = 8;

/// Prints a report.
pub(crate) fn print(report: &Report, output: Output) {
    let Report {
        input,
        notes,
        totals,
        ..
    } = report;
    for note in notes {
        output.line(format_args!("{CAUTION}note{CAUTION:#}: {note}"));
    }
    if !notes.is_empty() {
        output.line("");
    }
    output.line(headline(report));
    let from = input.from.join(", ");
    let what = if input.generated { "load" } else { "log" };
    output.line(format_args!(
        "{QUIET}{what}: {from}; from {} to {}, {}{QUIET:#}",
        input.first,
        input.last,
        moment::length(input.span)
    ));
    if input.unreadable > 0 {
        output.line(format_args!(
            "{CAUTION}{} of {} lines could not be read{CAUTION:#}",
            grouped(input.unreadable),
            grouped(input.lines)
        ));
        for one in &input.unreadable_examples {
            output.line(format_args!("  {}:{}: {}", one.file, one.line, one.reason));
        }
    }
    if totals.shadow > 0 {
        output.line(format_args!(
            "{} of the refused are in shadow: Envoy lets them through",
            grouped(totals.shadow)
        ));
    }
    if totals.replayed > 0 {
        output.line(format_args!(
            "{} were done already and got the first answer again",
            grouped(totals.replayed)
        ));
    }
    if totals.overflows > 0 {
        output.line(format_args!(
            "{} times a newcomer met a full table and shared its overflow bucket; raise `max_keys`",
            grouped(totals.overflows)
        ));
    }
    if let Some(then) = report.then.as_ref().filter(|then| then.refused > 0) {
        output.line(format_args!(
            "the log has {} answers 429: {} of them are refused here too, and {} others are that were let through then",
            grouped(then.refused),
            grouped(then.refused_both_times),
            grouped(then.refused_only_here)
        ));
    }
    rules(report, output);
    routes(report, output);
    top(&report.top, input.span, output);
    for limit in &report.limits {
        self::limit(limit, output);
    }
    if let Some(differences) = &report.differences {
        self::differences(report, differences, output);
    }
}

/// What a person remembers of it.
pub(crate) fn headline(report: &Report) -> String {
    let Report {
        policy,
        totals,
        callers,
        ..
    } = report;
    let name = format!("`{}` {}", policy.policy, policy.version);
    let about = if callers.exact { "" } else { "about " };
    let seen = grouped(callers.seen);
    if totals.refused == 0 {
        return format!(
            "{name} would have let all {} requests of {about}{seen} callers through",
            grouped(totals.requests)
        );
    }
    format!(
        "{name} would have refused {} of {} requests ({}), from {about}{} of {seen} callers",
        grouped(totals.refused),
        grouped(totals.requests),
        percent(totals.refused, totals.requests),
        grouped(callers.refused),
    )
}

fn table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for column in numbers {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn show(output: Output, title: impl Display, table: &Table) {
    output.line(format_args!("\n{title}\n{}", table.trim_fmt()));
}

fn rules(report: &Report, output: Output) {
    let mut table = table(
        &["rule", "asked", "refused", "first to", "from", "to"],
        &[1, 2, 3],
    );
    for rule in &report.rules {
        let name = if rule.shadow {
            format!("{} (shadow)", rule.rule)
        } else {
            rule.rule.clone()
        };
        table.add_row(vec![
            name,
            rule.asked.map_or_else(String::new, grouped),
            grouped(rule.refused),
            grouped(rule.first_to_refuse),
            rule.first.clone().unwrap_or_default(),
            rule.last.clone().unwrap_or_default(),
        ]);
    }
    show(output, "by which limit", &table);
}

fn routes(report: &Report, output: Output) {
    if report.routes.len() < 2 {
        return;
    }
    let mut table = table(&["route", "requests", "refused", "share"], &[1, 2, 3]);
    for route in &report.routes {
        table.add_row(vec![
            route
                .route
                .clone()
                .unwrap_or_else(|| "(no route)".to_owned()),
            grouped(route.requests),
            grouped(route.refused),
            percent(route.refused, route.requests),
        ]);
    }
    show(output, "by route", &table);
}

fn top(top: &[Top], span: u64, output: Output) {
    if top.is_empty() {
        return;
    }
    let mut table = table(
        &[
            "caller",
            "refused",
            "of requests",
            "first",
            "last",
            "longest",
            "by",
        ],
        &[1, 2, 5],
    );
    let days = span >= 86_400_000_000_000;
    for one in top {
        let (first, last, longest) = one.times;
        table.add_row(vec![
            plain(&one.caller.to_string()),
            refused(one),
            grouped(one.requests),
            moment::brief(first, days),
            moment::brief(last, days),
            moment::length(longest),
            one.rules
                .iter()
                .map(|rule| rule.rule.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ]);
    }
    show(
        output,
        "who was refused most (requests since the first refusal; longest: between two refusals with nothing admitted between)",
        &table,
    );
}

/// How often a caller was refused.
pub(crate) fn refused(top: &Top) -> String {
    if top.refused_error == 0 {
        grouped(top.refused)
    } else {
        let least = top.refused.saturating_sub(top.refused_error);
        format!("{} to {}", grouped(least), grouped(top.refused))
    }
}

/// Text of a client on a terminal: no control characters.
fn plain(text: &str) -> String {
    let escape = |char: char| {
        if char.is_control() {
            char.escape_default().to_string()
        } else {
            char.to_string()
        }
    };
    text.chars().map(escape).collect()
}

fn limit(limit: &Limit, output: Output) {
    for tier in &limit.tiers {
        let of = if tier.of.is_empty() {
            String::new()
        } else {
            format!(" ({})", tier.of.join(", "))
        };
        output.line(format_args!(
            "\nlimit `{}`{of}: {} with burst {}, per {}: {}{} of {} buckets refused something",
            limit.limit,
            tier.rate,
            tier.burst,
            limit.per.join(" and "),
            if tier.exact { "" } else { "about " },
            grouped(tier.refused_buckets),
            grouped(tier.buckets),
        ));
        if tier.refused_buckets == 0 {
            output.line(format_args!(
                "  {GOOD}enough for all{GOOD:#}; the smallest burst at that rate: {}",
                tier.smallest_burst
            ));
            continue;
        }
        output.line(format_args!("  {}", enough(tier)));
        let needed = if tier.curve_exact {
            "burst needed"
        } else {
            "burst needed, about"
        };
        let mut table = table(&["rate", needed], &[0, 1]);
        for point in thinned(tier) {
            table.add_row(vec![point.rate.clone(), grouped(point.burst)]);
        }
        output.line(table.trim_fmt());
    }
    if limit.mixed.buckets > 0 {
        output.line(format_args!("\nlimit `{}`: {}", limit.limit, mixed(limit)));
    }
}

/// What is said of buckets that callers of several quotas shared.
pub(crate) fn mixed(limit: &Limit) -> String {
    format!(
        "buckets that callers of several quotas shared: {}, of which {} refused something; what would have been enough is not known of those",
        grouped(limit.mixed.buckets),
        grouped(limit.mixed.refused),
    )
}

/// What would have been enough, in a sentence.
pub(crate) fn enough(tier: &Tier) -> String {
    let rate = match &tier.smallest_rate {
        Some(rate) => {
            let about = if tier.smallest_rate_exact {
                ""
            } else {
                "about "
            };
            format!(
                "with burst {} the smallest rate is {about}{rate}",
                grouped(tier.burst)
            )
        }
        None => format!(
            "with burst {} no rate would do, for more came at once",
            grouped(tier.burst)
        ),
    };
    format!(
        "to let {} % through: at {} the smallest burst is {}; {rate}",
        tier.through,
        tier.rate,
        grouped(tier.smallest_burst)
    )
}

/// Points of a curve, evenly taken.
fn thinned(tier: &Tier) -> impl Iterator<Item = &super::model::Point> {
    let step = tier.curve.len().div_ceil(POINTS).max(1);
    tier.curve.iter().step_by(step)
}

fn differences(report: &Report, differences: &Differences, output: Output) {
    let Some(against) = &report.against else {
        return;
    };
    output.line(format_args!(
        "\n{} (against `{}` {}, {} refused)",
        difference(differences),
        against.policy,
        against.version,
        grouped(against.refused)
    ));
    if differences.kinds.is_empty() {
        return;
    }
    let mut kinds = table(&["here", "there", "requests"], &[2]);
    for kind in &differences.kinds {
        kinds.add_row(vec![
            kind.here.clone(),
            kind.there.clone(),
            grouped(kind.requests),
        ]);
    }
    show(output, "by rule", &kinds);
    let mut callers = table(&["caller", "stricter", "looser", "other"], &[1, 2, 3]);
    for one in &differences.top {
        let numbers = [one.stricter, one.looser, one.other].map(grouped);
        callers.add_row(std::iter::once(plain(&one.caller.to_string())).chain(numbers));
    }
    show(output, "for whom", &callers);
    let mut examples = table(&["time", "caller", "request", "here", "there"], &[]);
    for one in &differences.examples {
        examples.add_row(vec![
            one.time.clone(),
            plain(&one.caller.to_string()),
            plain(&format!("{} {}", one.method, one.path)),
            one.here.clone(),
            one.there.clone(),
        ]);
    }
    show(output, "the first of each caller", &examples);
}

/// How two policies differ, in a sentence.
pub(crate) fn difference(differences: &Differences) -> String {
    let Differences {
        stricter,
        looser,
        other,
        ..
    } = differences;
    if stricter.saturating_add(*looser).saturating_add(*other) == 0 {
        return "both decide every request alike".to_owned();
    }
    format!(
        "stricter on {} requests, looser on {}, different in another way on {}",
        grouped(*stricter),
        grouped(*looser),
        grouped(*other)
    )
}

/// The lines that could not be read, where they were too many.
pub(crate) fn unreadable(report: &Report, output: Output) {
    for one in &report.input.unreadable_examples {
        output.tell(format_args!(
            "  {BAD}{}:{}{BAD:#}: {}",
            one.file, one.line, one.reason
        ));
    }
}
