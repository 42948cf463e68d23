//! Puts requests into the order of their times. A log is written when requests end, so a slow one stands behind those
//! that came after it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::simulate::record::Record;

/// The most requests that are held back; a slow one that ends behind more than that comes late.
const MOST_HELD: usize = 65_536;

type Held = (u64, u64, u32);

/// Holds requests back for a while, in case an earlier one comes.
#[derive(Debug)]
pub(crate) struct Reorder {
    /// For how long, in nanoseconds of the log's own time.
    window: u64,
    /// Those that came in the order of their times, and those that did not: each by its time, its number and its place.
    run: VecDeque<Held>,
    stragglers: BinaryHeap<Reverse<Held>>,
    /// The records by their places, and the places that are free.
    records: Vec<Record>,
    free: Vec<u32>,
    latest: u64,
    count: u64,
}

impl Reorder {
    pub(crate) fn new(window: u64) -> Self {
        Self {
            window,
            run: VecDeque::new(),
            stragglers: BinaryHeap::new(),
            records: Vec::new(),
            free: Vec::new(),
            latest: 0,
            count: 0,
        }
    }

    /// A record to be written to; it is handed in with [`Self::push`].
    pub(crate) fn blank(&mut self) -> (u32, &mut Record) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.records.push(Record::default());
            u32::try_from(self.records.len().saturating_sub(1)).unwrap_or(u32::MAX)
        });
        (place, self.record(place))
    }

    fn record(&mut self, place: u32) -> &mut Record {
        let place = place as usize;
        if self.records.len() <= place {
            self.records
                .resize_with(place.saturating_add(1), Record::default);
        }
        // It was just made if it was not there.
        #[allow(
            clippy::indexing_slicing,
            reason = "the line above makes it long enough"
        )]
        &mut self.records[place]
    }

    /// Gives a record back unused.
    pub(crate) fn discard(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Hands a record in; ones of the same time stay in the order of the log.
    pub(crate) fn push(&mut self, place: u32) {
        let time = self.record(place).time;
        self.latest = self.latest.max(time);
        self.count = self.count.wrapping_add(1);
        let held = (time, self.count, place);
        if self.run.back().is_none_or(|(last, ..)| *last <= time) {
            self.run.push_back(held);
        } else {
            self.stragglers.push(Reverse(held));
        }
    }

    /// The time of the earliest record if that has come: nothing earlier is expected. With `over` nothing is expected at all.
    pub(crate) fn next(&self, over: bool) -> Option<u64> {
        let (_, (time, ..)) = self.earliest()?;
        let due = time <= self.latest.saturating_sub(self.window);
        let count = self.run.len().saturating_add(self.stragglers.len());
        (over || due || count > MOST_HELD).then_some(time)
    }

    /// Hands the earliest record to `use_it`.
    pub(crate) fn pop(&mut self, use_it: impl FnOnce(&Record)) {
        let Some((straggles, (_, _, place))) = self.earliest() else {
            return;
        };
        if straggles {
            self.stragglers.pop();
        } else {
            self.run.pop_front();
        }
        use_it(self.record(place));
        self.free.push(place);
    }

    /// The earliest record, and whether it is a straggler.
    fn earliest(&self) -> Option<(bool, Held)> {
        let straggler = self.stragglers.peek().map(|Reverse(held)| *held);
        match (self.run.front().copied(), straggler) {
            (Some(next), Some(straggler)) if straggler < next => Some((true, straggler)),
            (Some(next), _) => Some((false, next)),
            (None, straggler) => Some((true, straggler?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_within_the_window_comes_out_in_order_and_the_rest_as_early_as_it_can() {
        let mut reorder = Reorder::new(100);
        let mut random = fastrand::Rng::with_seed(7);
        let mut out = Vec::new();
        for step in 0..10_000_u64 {
            let (place, record) = reorder.blank();
            record.clear(0);
            record.time = 1_000 + step * 10 - random.u64(..100);
            reorder.push(place);
            while reorder.next(false).is_some() {
                reorder.pop(|record| out.push(record.time));
            }
        }
        while reorder.next(true).is_some() {
            reorder.pop(|record| out.push(record.time));
        }
        assert_eq!(out.len(), 10_000);
        assert!(out.is_sorted());
        // Places are used again: no more than a window's worth and a few.
        assert!(reorder.records.len() < 40, "{}", reorder.records.len());
    }
}
