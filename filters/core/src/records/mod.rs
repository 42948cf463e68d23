//! Has this already been done: one record for each idempotency key or event, from the first request's claim to the end of
//! its stored answer.
//!
//! [`record`] is what is remembered, [`set`] how several records look in the store, [`machine`] what a request makes of
//! them: functions of the old bytes, the time and the request. [`drive`] reads and swaps on a store that answers at once.
//! Stored answers stand apart ([`stored`]), so that looking a record up copies little.
//!
//! # Invariants
//! - *At most once*: a record is claimed by a swap of what was read, so one request of many wins; the others find it running.
//! - *Only the owner settles*: what a request makes of its record it makes with the token that it claimed it with.
//! - *A live record is never evicted*: it ends when its time is over, or when an operator ends it.
//! - *Bounded*: a fixed number of sets, at most [`set::WAYS`] records in each, and bytes for answers.

pub mod drive;
pub mod machine;
pub mod record;
pub mod set;
pub mod stored;

pub use drive::{Claimed, Place, Released, Room};
pub use machine::{Claim, Settled};
pub use record::{Digest, Owner, Record, State};
pub use stored::Stored;
