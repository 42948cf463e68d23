//! Where state is kept, and how much room it has.

use deserr::ValuePointerRef;

use super::size::size;
use super::{names, number};
use crate::policy::document::{Capacity, Redis, RedisStore, Store, StoreWord};
use crate::policy::faults::Faults;

/// The most room for records, in mebibytes.
const MOST_CAPACITY_MIB: u64 = 4096;

/// Checks a store. Nothing is made of it yet: this version keeps state in Envoy only.
pub(super) fn store(store: Store, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let redis = match store {
        Store::Word(StoreWord::Local) => return,
        Store::Redis(RedisStore { redis }) => redis,
    };
    let Some(Redis { cluster }) = redis else {
        faults.missing(at, "redis", "an object with the `cluster`");
        return;
    };
    let at = at.push_key("redis");
    match cluster {
        Some(name) => {
            names::visible(
                &name,
                256,
                "a cluster's name",
                at.push_key("cluster"),
                faults,
            );
        }
        None => faults.missing(at, "cluster", "the name of the Envoy cluster"),
    }
}

/// Checks the room for records. Nothing is made of it yet: this version keeps none.
pub(super) fn capacity(capacity: Capacity, at: ValuePointerRef<'_>, faults: &mut Faults) {
    let Capacity { records, bytes } = capacity;
    if let Some(records) = records {
        number::within(records, 1..=16_777_216, at.push_key("records"), faults);
    }
    if let Some(text) = bytes {
        size(&text, MOST_CAPACITY_MIB, at.push_key("bytes"), faults);
    }
}
