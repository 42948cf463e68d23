//! The contract of a store.

use super::{done, hold};
use crate::store::{Slot, Store, Swap};

/// Values of every kind that has a fixed name.
const SLOTS: [Slot; 7] = [
    Slot::Records(0),
    Slot::Records(1),
    Slot::Answer(0, 0),
    Slot::Answer(0, 1),
    Slot::Answer(1, 0),
    Slot::Room,
    Slot::Sweep,
];

pub(super) fn absent<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    for slot in SLOTS {
        let (bytes, _) = done(store.read(slot))?;
        hold(bytes.is_empty(), "it is not empty")?;
    }
    Ok(())
}

pub(super) fn swaps_once<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    for slot in SLOTS {
        let (_, version) = done(store.read(slot))?;
        let first = done(store.swap(slot, version, b"one"))?;
        let second = done(store.swap(slot, version, b"two"))?;
        hold(first == Swap::Done, "the first swap was lost")?;
        hold(second == Swap::Lost, "the second swap was not lost")?;
        let (bytes, version) = done(store.read(slot))?;
        hold(bytes == b"one", "the lost swap wrote")?;
        // Equal bytes are a writing too: who read before it has lost.
        let same = done(store.swap(slot, version, b"one"))?;
        let after = done(store.swap(slot, version, b"two"))?;
        hold(same == Swap::Done, "equal bytes were not written")?;
        hold(
            after == Swap::Lost,
            "a writing of equal bytes went unnoticed",
        )?;
    }
    Ok(())
}

pub(super) fn first_writings<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    for slot in SLOTS {
        let (_, one) = done(store.read(slot))?;
        let (_, other) = done(store.read(slot))?;
        let other = done(store.swap(slot, other, b"other"))?;
        let one = done(store.swap(slot, one, b"one"))?;
        let (bytes, _) = done(store.read(slot))?;
        let won = (other, one) == (Swap::Done, Swap::Lost);
        hold(won && bytes == b"other", "both won, or none")?;
    }
    Ok(())
}

pub(super) fn byte_equal<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    let slot = Slot::Answer(0, 0);
    for length in [0, 1, 255, 4_096, 65_537, 1 << 20, 3] {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        let (_, version) = done(store.read(slot))?;
        let swap = done(store.swap(slot, version, &bytes))?;
        let (read, _) = done(store.read(slot))?;
        let same = swap == Swap::Done && read == bytes;
        hold(same, &format!("not those of {length} bytes"))?;
    }
    Ok(())
}

pub(super) fn apart<S: Store>(make: &mut dyn FnMut() -> S) -> Result<(), String> {
    let store = &mut make();
    for slot in SLOTS {
        let (_, version) = done(store.read(slot))?;
        done(store.swap(slot, version, format!("{slot:?}").as_bytes()))?;
    }
    for slot in SLOTS {
        let (bytes, _) = done(store.read(slot))?;
        hold(
            bytes == format!("{slot:?}").as_bytes(),
            "one wrote over another",
        )?;
    }
    Ok(())
}
