//! Tables in Markdown.

use std::fmt;

/// A table; the first column is text, the others are what the head says.
#[derive(Debug)]
pub(crate) struct Table {
    title: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: &'static str, head: &[&'static str]) -> Self {
        Self {
            title,
            head: head.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = String>) {
        let row = std::iter::once(name.into()).chain(cells).collect();
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, head, rows } = self;
        writeln!(f, "{title}\n")?;
        writeln!(f, "| {} |", head.join(" | "))?;
        writeln!(f, "|---{}|", "|---:".repeat(head.len() - 1))?;
        for row in rows {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}
