//! Records of what was done: every interleaving of a few workers, what every store must do, and what is written where.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod codec;
mod explore;
mod interleavings;
mod invariants;
mod suite;
mod worker;
mod world;
