//! The suite of every store, on the one in memory; and that it notices a store that is none.

use tidegate_core::cases::store_suite::suite;
use tidegate_core::key::Secret;
use tidegate_core::store::{MemoryStore, Slot, Store, StoreError, Swap, Version};

#[test]
fn the_store_in_memory_does_what_a_store_does() {
    suite(MemoryStore::new).unwrap();
}

/// A store that takes every swap.
#[derive(Default)]
struct Careless(MemoryStore);

impl Store for Careless {
    fn secret(&self) -> Secret {
        self.0.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.0.read(slot)
    }

    fn swap(&mut self, slot: Slot, _: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        let (_, version) = self.0.read(slot)?;
        self.0.swap(slot, version, bytes)
    }
}

#[test]
fn a_store_that_takes_every_swap_is_noticed() {
    let wrong = suite(Careless::default).unwrap_err();
    assert!(wrong.contains("the second swap was not lost"), "{wrong}");
}
