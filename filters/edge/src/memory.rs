//! What a worker remembers of refusals: at most a second, at most [`MAX_REFUSALS`] of them.

use cached::{Cached as _, LruCache};
use tidegate_core::engine::{Memory, Remembered};
use tidegate_core::key::Key;

/// How many refusals one worker remembers for one policy; the least recently used goes first.
const MAX_REFUSALS: usize = 1024;

/// A worker's memory of refusals.
pub(crate) struct Refusals(LruCache<Key, Remembered>);

impl Refusals {
    pub(crate) fn new() -> Self {
        Self(LruCache::new(MAX_REFUSALS))
    }
}

impl Memory for Refusals {
    fn is_empty(&self) -> bool {
        self.0.cache_size() == 0
    }

    fn get(&mut self, key: &Key) -> Option<&Remembered> {
        self.0.cache_get(key)
    }

    fn put(&mut self, key: Key, refusal: Remembered) {
        self.0.cache_set(key, refusal);
    }
}
