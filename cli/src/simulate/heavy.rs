//! Who was refused most: a bounded table after Metwally's space saving. Whoever comes when it is full takes over the
//! largest count of those that are dropped, so nobody who belongs in front is missing; what a count may be too large
//! by is said with it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::digest::Digested;

/// How many are kept after a clearing; up to twice as many are held.
const KEPT: usize = 16_384;

/// Values by digests of their keys, with counts.
#[derive(Debug)]
pub(crate) struct Heavy<V> {
    held: HashMap<u64, Counted<V>, Digested>,
    /// The largest count that was dropped.
    floor: u64,
}

/// A value with its count.
#[derive(Debug)]
pub(crate) struct Counted<V> {
    /// At most so often.
    pub(crate) count: u64,
    /// The count may be too large by this.
    pub(crate) error: u64,
    pub(crate) value: V,
}

impl<V> Heavy<V> {
    pub(crate) fn new() -> Self {
        Self {
            held: HashMap::default(),
            floor: 0,
        }
    }

    /// Whether there is nobody yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The value of a key, if it is held.
    pub(crate) fn find(&mut self, digest: u64) -> Option<&mut V> {
        self.held.get_mut(&digest).map(|counted| &mut counted.value)
    }

    /// Counts a key, whose value is made by `new` if it is not held.
    pub(crate) fn count(&mut self, digest: u64, new: impl FnOnce() -> V) -> &mut V {
        if self.held.len() >= KEPT.saturating_mul(2) && !self.held.contains_key(&digest) {
            self.clear();
        }
        let floor = self.floor;
        let counted = match self.held.entry(digest) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Counted {
                count: floor,
                error: floor,
                value: new(),
            }),
        };
        counted.count = counted.count.saturating_add(1);
        &mut counted.value
    }

    /// Drops the smaller half.
    fn clear(&mut self) {
        let mut counts: Vec<u64> = self.held.values().map(|counted| counted.count).collect();
        let place = counts.len().saturating_sub(KEPT);
        let (_, least, _) = counts.select_nth_unstable(place);
        let least = *least;
        let mut dropped = 0;
        self.held.retain(|_, counted| {
            let kept = counted.count > least;
            if !kept {
                dropped = dropped.max(counted.count);
            }
            kept
        });
        self.floor = self.floor.max(dropped);
    }

    /// The `most` that are known to be largest, the largest first.
    pub(crate) fn top(&self, most: usize) -> Vec<&Counted<V>> {
        let mut all: Vec<_> = self.held.iter().collect();
        let known = |counted: &Counted<V>| counted.count.saturating_sub(counted.error);
        all.sort_by_key(|(digest, counted)| (std::cmp::Reverse(known(counted)), **digest));
        all.into_iter()
            .take(most)
            .map(|(_, counted)| counted)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_are_found_in_a_crowd_that_does_not_fit() {
        let mut heavy = Heavy::new();
        for round in 0..100_000_u64 {
            // Ten who come each time, and a newcomer.
            for key in 0..10 {
                heavy.count(key, || key);
            }
            heavy.count((1_000 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15), || {
                round
            });
            assert!(heavy.held.len() <= KEPT * 2);
        }
        let top = heavy.top(10);
        let mut keys: Vec<u64> = top.iter().map(|counted| counted.value).collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..10).collect::<Vec<_>>());
        assert!(
            top.iter()
                .all(|c| c.count - c.error <= 100_000 && c.count >= 100_000)
        );
    }
}
