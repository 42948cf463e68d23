//! The tables and the closing words.

use std::fmt::Write as _;

use tidegate_e2e::bench::{self, median, range, times};

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

    /// Three tables in Markdown: of requests beside a bare Envoy's, of hits beside a bare cache's, and of requests with a key
    /// beside a bare Envoy's.
    pub(crate) fn tables(&self, rows: &[Row]) -> String {
        let requests = self.table(rows, "filter", "bare", |kind| {
            !kind.is_hit() && !kind.has_key()
        });
        let hits = self.table(rows, "cache", "bare hit", Kind::is_hit);
        let keys = self.table(rows, "with a key", "bare POST", Kind::has_key);
        format!("{requests}\n{hits}\n{keys}")
    }

    /// One table. Ratio and difference are those to its first row in the same round, and of them the median.
    fn table(&self, rows: &[Row], what: &str, base: &str, of: fn(Kind) -> bool) -> String {
        let mut table = format!(
            "| {what} | CPU µs per request | least to most | added µs | times {base} |\n\
             |---|---:|---:|---:|---:|\n",
        );
        let mut first = None;
        for (row, nanos) in rows.iter().zip(&self.rows) {
            if !of(row.kind) {
                continue;
            }
            let first = *first.get_or_insert(nanos);
            let micros: Vec<f64> = nanos.iter().map(|n| n / 1e3).collect();
            let (least, most) = range(&micros);
            // Text takes whatever is written to it.
            let _ = writeln!(
                table,
                "| {} | {:.2} | {least:.2} to {most:.2} | {:+.2} | {:.2} |",
                row.name,
                median(&micros),
                added(nanos, first),
                times(nanos, first),
            );
        }
        table
    }

    /// The names and figures of some rows.
    fn of<'r>(
        &'r self,
        rows: &'r [Row],
        wanted: impl Fn(Kind) -> bool + 'r,
    ) -> impl Iterator<Item = (&'r String, &'r Vec<f64>)> {
        rows.iter()
            .zip(&self.rows)
            .filter(move |(row, _)| wanted(row.kind))
            .map(|(row, nanos)| (&row.name, nanos))
    }

    /// Both aims, and whether this run met them.
    pub(crate) fn aims(&self, rows: &[Row]) -> String {
        let of = |wanted: Kind| self.of(rows, move |kind| kind == wanted);
        let met = |yes: bool| if yes { "met" } else { "not met" };
        let mut text = String::new();
        for (_, naive) in of(Kind::Naive) {
            for (name, whole) in of(Kind::Whole) {
                let bare = &self.rows[0];
                let ratio = added(whole, bare) / added(naive, bare);
                let (bare, _) = range(bare);
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
            let ratio = times(refusal, &self.rows[0]);
            let _ = writeln!(
                text,
                "{name}: {ratio:.2} times a bare proxied request; less than 0.7 is {}.",
                met(ratio < 0.7)
            );
        }
        text
    }

    /// What a hit costs beside a hit of the same cache alone.
    pub(crate) fn hits(&self, rows: &[Row]) -> String {
        let of = |wanted: fn(Kind) -> bool| self.of(rows, wanted);
        let mut text = String::new();
        for (_, bare) in of(|kind| kind == Kind::BareHit) {
            text.push_str(
                "Hits are compared with those of an Envoy that has the cache and no module, for the same requests and as many \
                 copies, in the same round; no request of theirs reached the origin.\n",
            );
            for (name, hit) in of(|kind| kind.is_hit() && !kind.is_bare()) {
                let _ = writeln!(
                    text,
                    "{name}: {:.2} times a bare hit, {:+.2} µs; {:.2} times a bare proxied request.",
                    times(hit, bare),
                    added(hit, bare),
                    times(hit, &self.rows[0]),
                );
            }
        }
        for (_, without) in of(|kind| kind == Kind::UnscopedHit) {
            for (_, scoped) in of(|kind| kind == Kind::ScopedHit) {
                let _ = writeln!(
                    text,
                    "Scope and seal add {:+.2} µs to a hit behind a gate without them.",
                    added(scoped, without)
                );
            }
        }
        text
    }

    /// What a request with a key costs beside one that a bare Envoy passes on.
    pub(crate) fn keys(&self, rows: &[Row]) -> String {
        let of = |wanted: fn(Kind) -> bool| self.of(rows, wanted);
        let mut text = String::new();
        for (_, bare) in of(|kind| kind == Kind::BareKey) {
            text.push_str(
                "Requests with a key are compared with the same POSTs through an Envoy without the module, in the same round; each \
                 new key reached the origin once, and no request that was answered from a record did.\n",
            );
            for (name, replay) in of(|kind| kind == Kind::Replay) {
                let _ = writeln!(
                    text,
                    "{name}: {:.2} times a bare proxied POST.",
                    times(replay, bare)
                );
            }
            for (name, first) in of(|kind| matches!(kind, Kind::Inline | Kind::Detached)) {
                let _ = writeln!(
                    text,
                    "{name}: {:+.2} µs, {:.2} times a bare proxied POST.",
                    added(first, bare),
                    times(first, bare)
                );
            }
        }
        for (_, inline) in of(|kind| kind == Kind::Inline) {
            for (_, detached) in of(|kind| kind == Kind::Detached) {
                let _ = writeln!(
                    text,
                    "A call that is detached costs {:+.2} µs beside one that is made inline.",
                    added(detached, inline)
                );
            }
        }
        text
    }
}

/// The microseconds added to those of the same round, in the middle of all rounds.
fn added(nanos: &[f64], to: &[f64]) -> f64 {
    bench::added(nanos, to) / 1e3
}
