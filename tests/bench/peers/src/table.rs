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

/// A number with a comma between thousands.
pub(crate) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::{Table, thousands};

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new("Title", &["", "cell"]);
        table.row("row", [thousands(1_048_576)]);
        let text = "Title\n\n|  | cell |\n|---|---:|\n| row | 1,048,576 |\n";
        assert_eq!(table.to_string(), text);
        assert_eq!([0, 999, 1_000].map(thousands), ["0", "999", "1,000"]);
    }
}
