//! The report as one page that needs nothing else: no script, no file, no network.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart;
use super::model::{Differences, Limit, Report, Top};
use super::numbers::{grouped, percent};
use super::text;
use crate::simulate::moment;

/// Colours are all given, so that a browser in dark mode changes none of them.
const STYLE: &str = "
:root { color-scheme: light; }
body { margin: 0 auto; padding: 24px 16px; max-width: 960px; background: #fff; color: #1a1a1a; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 32px 0 8px; border-bottom: 1px solid #ddd; padding-bottom: 4px; }
p { margin: 6px 0; }
.quiet { color: #595959; }
.note { background: #fff4e0; color: #1a1a1a; border-left: 4px solid #e69f00; padding: 6px 12px; margin: 8px 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid #eee; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: #595959; }
td.n, th.n { text-align: right; white-space: nowrap; }
svg { max-width: 100%; height: auto; display: block; background: #fff; }
@media print { body { padding: 0; max-width: none; font-size: 12px; } section { break-inside: avoid; } }
";

/// The page.
///
/// # Errors
/// A chart cannot be drawn.
pub(crate) fn page(report: &Report) -> Result<String> {
    let Report {
        input,
        notes,
        totals,
        timeline,
        ..
    } = report;
    let headline = text::headline(report);
    let what = if input.generated { "Load" } else { "Log" };
    let refusals = chart::columns(timeline, &["admitted"])?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (report.policy.policy) " " (report.policy.version) ", simulated" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (headline) }
                p.quiet {
                    (what) ": " (input.from.join(", ")) ". From " (input.first) " to " (input.last) ", "
                    (moment::length(input.span)) ". Policy: " (report.policy.file) "."
                }
                @for note in notes { p.note { (note) } }
                @if input.unreadable > 0 {
                    p.note {
                        (grouped(input.unreadable)) " of " (grouped(input.lines)) " lines could not be read"
                        @for one in &input.unreadable_examples { br; (one.file) ":" (one.line) ": " (one.reason) }
                    }
                }
                (sentences(report))
                section {
                    h2 { "Admitted and refused" }
                    (svg(&chart::outcomes(timeline)?))
                }
                @if let Some(chart) = refusals {
                    section { h2 { "Refusals by rule" } (svg(&chart)) }
                }
                (rules(report))
                (routes(report))
                @if totals.refused > 0 {
                    (top(&report.top, input.span)?)
                }
                @for limit in &report.limits { (self::limit(limit)?) }
                @if let Some(found) = &report.differences { (differences(report, found)?) }
                p.quiet { "By tidegate " (env!("CARGO_PKG_VERSION")) "." }
            }
        }
    };
    Ok(page.into_string())
}

/// A chart, which its library has escaped.
fn svg(chart: &str) -> Markup {
    PreEscaped(chart.to_owned())
}

fn sentences(report: &Report) -> Markup {
    let totals = &report.totals;
    html! {
        @if totals.shadow > 0 {
            p { (grouped(totals.shadow)) " of the refused are in shadow: Envoy lets them through." }
        }
        @if totals.replayed > 0 {
            p { (grouped(totals.replayed)) " requests were done already and got the first answer again." }
        }
        @if totals.overflows > 0 {
            p.note { (grouped(totals.overflows)) " times a newcomer met a full table and shared its overflow bucket; raise `max_keys`." }
        }
        @if let Some(then) = report.then.as_ref().filter(|then| then.refused > 0) {
            p {
                "The log has " (grouped(then.refused)) " answers 429: " (grouped(then.refused_both_times))
                " of them are refused here too, and " (grouped(then.refused_only_here)) " others are that were let through then."
            }
        }
    }
}

fn rules(report: &Report) -> Markup {
    html! {
        section {
            h2 { "By which limit" }
            div.wide { table {
                tr { th { "Rule" } th.n { "Asked" } th.n { "Refused" } th.n { "First to refuse" } th { "From" } th { "To" } }
                @for rule in &report.rules {
                    tr {
                        td { (rule.rule) @if rule.shadow { " (shadow)" } }
                        td.n { (rule.asked.map_or_else(String::new, grouped)) }
                        td.n { (grouped(rule.refused)) }
                        td.n { (grouped(rule.first_to_refuse)) }
                        td { (rule.first.as_deref().unwrap_or_default()) }
                        td { (rule.last.as_deref().unwrap_or_default()) }
                    }
                }
            } }
        }
    }
}

fn routes(report: &Report) -> Markup {
    html! {
        @if report.routes.len() > 1 {
            section {
                h2 { "By route" }
                table {
                    tr { th { "Route" } th.n { "Requests" } th.n { "Refused" } th.n { "Share" } }
                    @for route in &report.routes {
                        tr {
                            td { (route.route.as_deref().unwrap_or("(no route)")) }
                            td.n { (grouped(route.requests)) }
                            td.n { (grouped(route.refused)) }
                            td.n { (percent(route.refused, route.requests)) }
                        }
                    }
                }
            }
        }
    }
}

fn top(top: &[Top], span: u64) -> Result<Markup> {
    let days = span >= 86_400_000_000_000;
    let chart = chart::top(top)?;
    Ok(html! {
        section {
            h2 { "Who was refused most" }
            (svg(&chart))
            div.wide { table {
                tr { th { "Caller" } th.n { "Refused" } th.n { "Of requests" } th { "First" } th { "Last" } th.n { "Longest" } th { "By" } }
                @for one in top {
                    tr {
                        td { (one.caller) }
                        td.n { (text::refused(one)) }
                        td.n { (grouped(one.requests)) }
                        td { (moment::brief(one.times.0, days)) }
                        td { (moment::brief(one.times.1, days)) }
                        td.n { (moment::length(one.times.2)) }
                        td { (one.rules.iter().map(|rule| rule.rule.as_str()).collect::<Vec<_>>().join(", ")) }
                    }
                }
            } }
            p.quiet {
                "Requests are counted from the first refusal on. Longest: the time from one refusal to another with nothing "
                "admitted between."
            }
        }
    })
}

fn limit(limit: &Limit) -> Result<Markup> {
    let charts = limit.tiers.iter().map(chart::curve);
    let charts = charts.collect::<Result<Vec<_>>>()?;
    Ok(html! {
        @for (tier, chart) in limit.tiers.iter().zip(&charts) {
            section {
                h2 {
                    "Limit " (limit.limit) @if limit.shadow { " (shadow)" } ": " (tier.rate) ", burst " (tier.burst)
                    @if !tier.of.is_empty() { " (" (tier.of.join(", ")) ")" }
                }
                p {
                    "One bucket per " (limit.per.join(" and ")) ". " @if !tier.exact { "About " }
                    (grouped(tier.refused_buckets)) " of " (grouped(tier.buckets)) " buckets refused something."
                }
                @if tier.refused_buckets > 0 {
                    p { strong { (text::enough(tier)) } }
                    @if let Some(chart) = chart { (svg(chart)) }
                } @else {
                    p { "Enough for all; the smallest burst at that rate is " (grouped(tier.smallest_burst)) "." }
                }
            }
        }
        @if limit.mixed.buckets > 0 {
            section {
                h2 { "Limit " (limit.limit) ": several quotas" }
                p { (text::mixed(limit)) }
            }
        }
    })
}

fn differences(report: &Report, found: &Differences) -> Result<Markup> {
    let chart = chart::columns(&found.timeline, &["same"])?;
    let other = report
        .against
        .as_ref()
        .map(|other| format!("{} {}", other.policy, other.version));
    Ok(html! {
        section {
            h2 { "Against " (other.unwrap_or_default()) }
            p { strong { (text::difference(found)) } }
            @if let Some(chart) = chart { (svg(&chart)) }
        }
        @if !found.kinds.is_empty() {
            section {
                table {
                    tr { th { "Here" } th { "There" } th.n { "Requests" } }
                    @for kind in &found.kinds {
                        tr { td { (kind.here) } td { (kind.there) } td.n { (grouped(kind.requests)) } }
                    }
                }
            }
            section {
                table {
                    tr { th { "Caller" } th.n { "Stricter" } th.n { "Looser" } th.n { "Other" } }
                    @for one in &found.top {
                        tr {
                            td { (one.caller) }
                            td.n { (grouped(one.stricter)) }
                            td.n { (grouped(one.looser)) }
                            td.n { (grouped(one.other)) }
                        }
                    }
                }
            }
            section {
                div.wide { table {
                    tr { th { "Time" } th { "Caller" } th { "Request" } th { "Here" } th { "There" } }
                    @for one in &found.examples {
                        tr {
                            td { (one.time) }
                            td { (one.caller) }
                            td { (one.method) " " (one.path) }
                            td { (one.here) }
                            td { (one.there) }
                        }
                    }
                } }
            }
        }
    })
}
