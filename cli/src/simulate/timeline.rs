//! What happened when: a fixed number of equal spans of time, which double in length when time runs on.

/// How many spans there are at most.
const MOST: usize = 240;

/// The shortest span, in nanoseconds: an eighth of a second.
const SHORTEST: u64 = 125_000_000;

/// Counts in spans of time; in each span a number for each column.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    columns: usize,
    start: u64,
    width: u64,
    counts: Vec<u64>,
}

impl Timeline {
    pub(crate) const fn new(columns: usize) -> Self {
        Self {
            columns,
            start: 0,
            width: SHORTEST,
            counts: Vec::new(),
        }
    }

    /// Counts something at `now`, which is never before an earlier one.
    pub(crate) fn count(&mut self, now: u64, column: usize) {
        if self.counts.is_empty() {
            self.start = now;
        }
        let mut span = self.span(now);
        while span >= MOST {
            self.double();
            span = self.span(now);
        }
        let first = span.saturating_mul(self.columns);
        if self.counts.len() <= first {
            self.counts.resize(first.saturating_add(self.columns), 0);
        }
        if let Some(count) = self.counts.get_mut(first.saturating_add(column)) {
            *count = count.saturating_add(1);
        }
    }

    fn span(&self, now: u64) -> usize {
        let spans = now.saturating_sub(self.start).checked_div(self.width);
        usize::try_from(spans.unwrap_or(0)).unwrap_or(usize::MAX)
    }

    fn double(&mut self) {
        self.width = self.width.saturating_mul(2);
        let columns = self.columns;
        let pairs = self.counts.chunks(columns.saturating_mul(2));
        self.counts = pairs
            .flat_map(|pair| {
                let (one, other) = pair.split_at_checked(columns).unwrap_or((pair, &[]));
                let others = other.iter().copied().chain(std::iter::repeat(0));
                one.iter()
                    .zip(others)
                    .map(|(one, other)| one.saturating_add(other))
                    .collect::<Vec<_>>()
            })
            .collect();
    }

    /// When the first span begins.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// How long a span is, in nanoseconds.
    pub(crate) const fn width(&self) -> u64 {
        self.width
    }

    /// The spans, each with its columns.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &[u64]> {
        self.counts.chunks(self.columns.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_spans_double() {
        let mut timeline = Timeline::new(2);
        for second in 0..100_000_u64 {
            timeline.count(7 + second * 1_000_000_000, usize::from(second % 10 == 0));
        }
        let sum = |column: usize| timeline.spans().map(|span| span[column]).sum::<u64>();
        assert_eq!((sum(0), sum(1)), (90_000, 10_000));
        assert!(timeline.spans().count() <= MOST);
        assert_eq!(timeline.width(), 512_000_000_000);
        assert_eq!(timeline.start(), 7);
        assert_eq!(timeline.spans().next().unwrap(), [460, 52]);
    }
}
