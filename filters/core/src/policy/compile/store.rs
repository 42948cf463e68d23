//! Where state is kept, and how much room it has.

use deserr::ValuePointerRef;

use super::size::{MIB, size};
use super::{names, number};
use crate::policy::document::{Capacity, Redis, RedisStore, Store, StoreWord};
use crate::policy::faults::Faults;
use crate::records::Room;

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

/// The room for records where the policy does not say.
const DEFAULT_RECORDS: u64 = 4096;
const DEFAULT_BYTES: u64 = 64 * MIB;

/// The room for records.
pub(super) fn capacity(
    capacity: Option<Capacity>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Room {
    let (records, bytes) = capacity.map_or((None, None), |wire| (wire.records, wire.bytes));
    if let Some(records) = records {
        number::within(records, 1..=16_777_216, at.push_key("records"), faults);
    }
    let bytes = bytes.map(|text| size(&text, MOST_CAPACITY_MIB, at.push_key("bytes"), faults));
    Room {
        records: u32::try_from(records.unwrap_or(DEFAULT_RECORDS)).unwrap_or(u32::MAX),
        bytes: bytes.flatten().unwrap_or(DEFAULT_BYTES),
    }
}
