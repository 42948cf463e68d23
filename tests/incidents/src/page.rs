//! The page: the same figures, and a chart for each incident. It needs nothing else: no script, no file, no network.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::Chart;
use crate::incident::{Incident, Row};

/// Colours are all given, so that a browser in dark mode changes none of them.
const STYLE: &str = "
:root { color-scheme: light; }
body { margin: 0 auto; padding: 24px 16px; max-width: 960px; background: #fff; color: #1a1a1a; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 40px 0 8px; border-bottom: 1px solid #ddd; padding-bottom: 4px; }
p, li { margin: 6px 0; }
.quiet { color: #595959; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid #eee; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: #595959; overflow-wrap: normal; }
td.n, th.n { text-align: right; }
.fails { background: #fbe3d6; font-weight: 600; }
svg { max-width: 100%; height: auto; display: block; background: #fff; margin: 12px 0; }
@media print { body { padding: 0; max-width: none; font-size: 12px; } section { break-inside: avoid; } }
";

/// The page about these incidents; `run` says how they were replayed.
///
/// # Errors
///
/// A chart cannot be drawn.
pub(crate) fn page(incidents: &[Incident], run: &str) -> Result<String> {
    let sections: Vec<Markup> = incidents.iter().map(section).collect::<Result<_>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Incidents, replayed" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Incidents, replayed" }
                p.quiet { (run) }
                ul { @for incident in incidents { li { a href={ "#incident-" (incident.number) } { (incident.title) } } } }
                @for section in &sections { (section) }
            }
        }
    };
    Ok(page.into_string())
}

fn section(incident: &Incident) -> Result<Markup> {
    let chart = incident.chart.as_ref().map(Chart::svg).transpose()?;
    Ok(html! {
        section id={ "incident-" (incident.number) } {
            h2 { (incident.number) ". " (incident.title) }
            p { (incident.story) }
            ul.quiet {
                li { "policy: " (incident.policy) }
                @for line in &incident.scale { li { (line) } }
            }
            @if let Some(chart) = chart { (PreEscaped(chart)) }
            div.wide { table {
                tr { th {} th.n { (incident.then) } th.n { "Tidegate" } th { "Stated outcome" } }
                @for row in &incident.rows { (self::row(row)) }
            } }
        }
    })
}

fn row(row: &Row) -> Markup {
    let class = match &row.stated {
        Some(stated) if !stated.holds => "fails",
        _ => "",
    };
    html! {
        tr class=(class) {
            td { (row.what) }
            td.n { (row.then) }
            td.n { (row.now) }
            td {
                @if let Some(stated) = &row.stated {
                    (stated.wanted) @if stated.holds { ": holds" } @else { ": FAILS" }
                }
            }
        }
    }
}
