//! A bounded table that is exact while everybody fits, and a uniform sample of everybody when not.

use std::collections::HashMap;

use super::digest::Digested;

/// Values by digests of at most `most` keys. When there are more, keys whose digests end in too few zero bits are
/// dropped, for good: who stays has been counted from the first request on.
#[derive(Debug)]
pub(crate) struct Sample<V> {
    most: usize,
    /// The low bits that are zero in a digest.
    mask: u64,
    values: HashMap<u64, V, Digested>,
}

impl<V> Sample<V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            mask: 0,
            values: HashMap::default(),
        }
    }

    /// The value of a key that is in the sample, made by `new` if it is the first time.
    pub(crate) fn get(&mut self, digest: u64, new: impl FnOnce() -> V) -> Option<&mut V> {
        if digest & self.mask != 0 {
            return None;
        }
        if self.values.len() >= self.most && !self.values.contains_key(&digest) {
            while self.values.len() >= self.most {
                self.mask = self.mask << 1 | 1;
                let mask = self.mask;
                self.values.retain(|digest, _| digest & mask == 0);
            }
            if digest & self.mask != 0 {
                return None;
            }
        }
        Some(self.values.entry(digest).or_insert_with(new))
    }

    /// Each value stands for so many; 1: nobody was dropped.
    pub(crate) const fn each(&self) -> u64 {
        self.mask.saturating_add(1)
    }

    /// How many there are, about.
    pub(crate) fn total(&self) -> u64 {
        u64::try_from(self.values.len())
            .unwrap_or(u64::MAX)
            .saturating_mul(self.each())
    }

    /// The values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_exact_while_all_fit_and_never_larger_than_its_bound() {
        let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
        let mut sample = Sample::new(1_000);
        for key in 0..1_000_u32 {
            assert!(sample.get(hasher.hash_one(key), || 0).is_some());
        }
        assert_eq!((sample.total(), sample.each()), (1_000, 1));
        for _ in 0..3 {
            for key in 0..100_000_u32 {
                if let Some(count) = sample.get(hasher.hash_one(key), || 0) {
                    *count += 1;
                }
                assert!(sample.values.len() <= 1_000);
            }
        }
        let total = sample.total();
        assert!((85_000..115_000).contains(&total), "{total}");
        // Who is in the sample was counted each time.
        assert!(sample.values().all(|count| *count == 3));
    }
}
