//! Puts requests into the order of their times. A log is written when requests end, so a slow one stands behind those
//! that came after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::simulate::record::Record;

/// The most requests that are held back; a slow one that ends behind more than that comes late.
const MOST_HELD: usize = 65_536;

/// Holds requests back for a while, in case an earlier one comes.
#[derive(Debug)]
pub(crate) struct Reorder {
    /// For how long, in nanoseconds of the log's own time.
    window: u64,
    held: BinaryHeap<Reverse<(u64, u64, u32)>>,
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
            held: BinaryHeap::new(),
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
        self.held.push(Reverse((time, self.count, place)));
    }

    /// Hands the earliest record to `use_it` if its time has come: nothing earlier is expected. With `over` nothing is
    /// expected at all. `false`: none was due.
    pub(crate) fn pop(&mut self, over: bool, use_it: impl FnOnce(&Record)) -> bool {
        let Some(Reverse((time, _, place))) = self.held.peek().copied() else {
            return false;
        };
        let due = time <= self.latest.saturating_sub(self.window);
        if !(over || due || self.held.len() > MOST_HELD) {
            return false;
        }
        self.held.pop();
        use_it(self.record(place));
        self.free.push(place);
        true
    }
}
