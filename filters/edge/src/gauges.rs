//! How full tables and stores are, looked at now and then by one worker. Of large ones a part of the sets is looked at, another
//! one each time, so the figures are estimates there.

use tidegate_core::policy::LimitId;
use tidegate_core::quota::NANOS_PER_SEC;
use tidegate_core::records::{drive, set};
use tidegate_core::store::{Slot, Store as _};
use tidegate_core::table;

use crate::gate::Gate;

/// How many sets of one table are looked at, at most.
const SAMPLE: u32 = 64;

/// How often one worker looks, in nanoseconds.
const LOOKED_EVERY: u64 = 10 * NANOS_PER_SEC;

impl Gate {
    /// Sets the gauges, if it is time to.
    pub(crate) fn measure(&self, now: u64) {
        if now < self.measured.get().saturating_add(LOOKED_EVERY) && self.measured.get() > 0 {
            return;
        }
        self.measured.set(now);
        for (index, limit) in self.policy.limits.iter().enumerate() {
            let sets = table::sets(limit.max_keys);
            let slot = |set| Slot::Buckets(LimitId(index), set);
            let busy = self.count(sets, now, slot, |bytes| {
                table::busy(bytes, now).unwrap_or(0)
            });
            let room = u64::from(sets).saturating_mul(table::WAYS as u64);
            self.metrics.record_occupancy(index, percent(busy, room));
        }
        if self.policy.records() {
            let (sets, _) = set::shape(self.policy.room.records);
            let live = |bytes: &[u8]| {
                let records = set::read(bytes).unwrap_or_default();
                records.iter().filter(|record| record.ends > now).count()
            };
            let records = self.count(sets, now, Slot::Records, live);
            let (store, _) = &mut *self.state.borrow_mut();
            self.metrics.record_store(records, drive::used(store).ok());
        }
    }

    /// How much there is in all sets together, judged by some of them.
    fn count(
        &self,
        sets: u32,
        now: u64,
        slot: impl Fn(u32) -> Slot,
        of: impl Fn(&[u8]) -> usize,
    ) -> u64 {
        let (store, _) = &mut *self.state.borrow_mut();
        let step = sets.div_ceil(SAMPLE).max(1);
        let turn = now.checked_div(LOOKED_EVERY).unwrap_or(0);
        let first = turn.checked_rem(u64::from(step)).unwrap_or(0);
        let first = u32::try_from(first).unwrap_or(0);
        let (mut found, mut looked) = (0_u64, 0_u64);
        for set in (first..sets).step_by(usize::try_from(step).unwrap_or(1)) {
            looked = looked.saturating_add(1);
            if let Ok(bytes) = store.peek(slot(set)) {
                found = found.saturating_add(u64::try_from(of(&bytes)).unwrap_or(0));
            }
        }
        let all = found.saturating_mul(u64::from(sets));
        all.checked_div(looked).unwrap_or(0)
    }
}

/// How many of a hundred, rounded up: a table that holds anything is not empty.
fn percent(part: u64, whole: u64) -> u64 {
    let hundred = part.saturating_mul(100);
    hundred.div_ceil(whole.max(1)).min(100)
}
