//! What came when: counts by span of time, a row for each kind of outcome.

use crate::chart::{Ink, Series};

/// Counts over time.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// How long a span is, in seconds.
    span: f64,
    spans: usize,
    rows: Vec<(String, Ink, Vec<u64>)>,
}

impl Timeline {
    /// Of so many spans of `span` seconds; what comes later is counted in the last.
    pub(crate) fn new(span: f64, spans: usize, rows: &[(&str, Ink)]) -> Self {
        let rows = rows
            .iter()
            .map(|(name, ink)| ((*name).to_owned(), *ink, vec![0; spans.max(1)]));
        Self {
            span,
            spans: spans.max(1),
            rows: rows.collect(),
        }
    }

    /// Counts one outcome of kind `row` at `at` seconds.
    pub(crate) fn add(&mut self, row: usize, at: f64) {
        let place = ((at / self.span) as usize).min(self.spans - 1);
        self.rows[row].2[place] += 1;
    }

    /// The rows as lines of a chart, in counts per second.
    pub(crate) fn per_second(&self) -> Vec<Series> {
        self.series(|count| count as f64 / self.span)
    }

    /// The rows as lines of a chart, in counts.
    pub(crate) fn counts(&self) -> Vec<Series> {
        self.series(|count| count as f64)
    }

    fn series(&self, value: impl Fn(u64) -> f64) -> Vec<Series> {
        let line = |(name, ink, counts): &(String, Ink, Vec<u64>)| Series {
            name: name.clone(),
            ink: *ink,
            values: counts.iter().map(|count| value(*count)).collect(),
        };
        self.rows.iter().map(line).collect()
    }
}
