//! Idempotency and de-duplication, turn by turn on a made-up clock: the A and E statements of the conformance list, by
//! number. The requests are driven as the module drives them, from their headers to the stored answer.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod bodies;
mod captures;
mod events;
mod keys;
mod outcomes;
mod stores;
mod turns;
mod world;
