//! The table that is printed.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::incident::Incident;

/// The figures of an incident as a table in Markdown, so that documentation has it as it is printed.
pub(crate) fn table(incident: &Incident) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["", incident.then, "Tidegate", "stated outcome"]);
    for row in &incident.rows {
        let stated = row.stated.as_ref().map_or_else(String::new, |stated| {
            let word = if stated.holds { "holds" } else { "FAILS" };
            format!("{}: {word}", stated.wanted)
        });
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(&row.what),
            right(&row.then),
            right(&row.now),
            Cell::new(stated),
        ]);
    }
    table.to_string()
}

/// A line for each outcome that does not hold, with both figures.
pub(crate) fn failures(incident: &Incident) -> Vec<String> {
    incident
        .failed()
        .map(|row| {
            let wanted = row.stated.as_ref().map_or("", |stated| &stated.wanted);
            format!(
                "failed: {}: {}: {} with {}, {} with Tidegate; stated: {wanted}",
                incident.title, row.what, row.then, incident.then, row.now
            )
        })
        .collect()
}
