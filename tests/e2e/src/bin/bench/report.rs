//! The table and the closing words.

use std::fmt::Write as _;

use crate::rows::{Kind, Row};

/// What was measured: for each row one figure of each round, in nanoseconds a request.
pub(crate) struct Report {
    rows: Vec<Vec<f64>>,
}

impl Report {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            rows: vec![Vec::new(); rows],
        }
    }

    pub(crate) fn add(&mut self, row: usize, nanos: f64) {
        self.rows[row].push(nanos);
    }

    /// A table in Markdown. Ratio and difference are those to the bare Envoy in the same round, and of them the median.
    pub(crate) fn table(&self, rows: &[Row]) -> String {
        let mut table = String::from(
            "| filter | CPU µs per request | least to most | added µs | times bare |\n\
             |---|---:|---:|---:|---:|\n",
        );
        for (row, nanos) in rows.iter().zip(&self.rows) {
            let micros: Vec<f64> = nanos.iter().map(|n| n / 1e3).collect();
            let (least, most) = range(&micros);
            let added = self.added(nanos);
            let ratio = median(&pairwise(nanos, &self.rows[0], |a, b| a / b));
            // Text takes whatever is written to it.
            let _ = writeln!(
                table,
                "| {} | {:.2} | {least:.2} to {most:.2} | {added:+.2} | {ratio:.2} |",
                row.name,
                median(&micros),
            );
        }
        table
    }

    /// Both aims, and whether this run met them.
    pub(crate) fn aims(&self, rows: &[Row]) -> String {
        let of = |kind: Kind| {
            rows.iter()
                .zip(&self.rows)
                .filter(move |(row, _)| row.kind == kind)
                .map(|(row, nanos)| (&row.name, nanos))
        };
        let met = |yes: bool| if yes { "met" } else { "not met" };
        let mut text = String::new();
        for (_, naive) in of(Kind::Naive) {
            for (name, whole) in of(Kind::Whole) {
                let ratio = self.added(whole) / self.added(naive);
                let (bare, _) = range(&self.rows[0]);
                let quietest = (range(whole).0 - bare) / (range(naive).0 - bare);
                let _ = writeln!(
                    text,
                    "{name}: adds {ratio:.2} times what one naive bucket adds ({quietest:.2} in the quietest rounds); \
                     less than 2 is {}.",
                    met(ratio < 2.0)
                );
            }
        }
        for (name, refusal) in of(Kind::Refusal) {
            let ratio = median(&pairwise(refusal, &self.rows[0], |a, b| a / b));
            let _ = writeln!(
                text,
                "{name}: {ratio:.2} times a bare proxied request; less than 1 is {}.",
                met(ratio < 1.0)
            );
        }
        text
    }

    /// The microseconds added over the bare Envoy of the same round.
    fn added(&self, nanos: &[f64]) -> f64 {
        median(&pairwise(nanos, &self.rows[0], |a, b| (a - b) / 1e3))
    }
}

fn pairwise(a: &[f64], b: &[f64], with: fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| with(*a, *b)).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}
