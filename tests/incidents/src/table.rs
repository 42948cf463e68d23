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

#[cfg(test)]
mod tests {
    use super::{failures, table};
    use crate::incident::Incident;

    #[test]
    fn an_outcome_that_does_not_hold_is_told_with_both_figures() {
        let mut incident = Incident {
            number: 2,
            title: "The firmware update",
            story: "",
            then: "fixed window",
            policy: "policies/partners",
            scale: Vec::new(),
            rows: Vec::new(),
            chart: None,
        };
        incident.figure("requests", 10, 10);
        incident.check("admitted", 20, 10, "10 at most", true);
        assert_eq!(failures(&incident), [""; 0]);
        incident.check("429s of others", 0, 3, "0", false);
        let told = "failed: The firmware update: 429s of others: 0 with fixed window, 3 with Tidegate; stated: 0";
        assert_eq!(failures(&incident), [told]);
        let shown = table(&incident);
        assert!(
            shown.contains("10 at most: holds") && shown.contains("0: FAILS"),
            "{shown}"
        );
    }
}
