//! Who is refused: a bounded memory of the scopes that rules refuse, for operators alone. No decision reads it.
//!
//! A *scope* is a rule and whom it refused: the bucket of a limit, or the caller. A worker counts in memory of its own
//! ([`recent`]) and adds that once a second to what all workers share: [`entry`] is what is known of a scope, [`set`] how several look
//! in the store, [`notice`] when somebody outside is told, and by [`event`] of what. [`drive`] reads and swaps.
//!
//! # Invariants
//! - *Bounded*: [`SETS`] sets of at most [`set::WAYS`] scopes. Who was refused last stays; a scope of which somebody is being
//!   told is not forgotten.
//! - *Digests only*: a scope is a key under the store's secret; a label is one that the policy gives.
//! - *Told once*: a scope is logged once per [`LOGGED_EVERY`] by all workers together, and an event is sent by the one that
//!   claimed it by a swap.

pub mod drive;
pub mod entry;
pub mod event;
pub mod line;
pub mod notice;
pub mod recent;
pub mod set;

pub use entry::{Entry, Id};
pub use line::Line;
pub use notice::{Kind, Notice, Outcome, Phase};
pub use recent::{Example, Recent};

use crate::key::Key;
use crate::quota::NANOS_PER_SEC;

/// How many sets there are.
pub const SETS: u32 = 64;

/// How often a scope is logged at most, in nanoseconds.
pub const LOGGED_EVERY: u64 = 60 * NANOS_PER_SEC;

/// The set of a scope.
pub const fn set_of(key: Key) -> u32 {
    key.place(SETS)
}
