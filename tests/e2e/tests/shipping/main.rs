//! Policies shipped into a running Envoy by the command line: swapped, refused, rolled back, tried in shadow and on a share.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod broken;
mod caches;
mod canary;
mod crowd;
mod documented;
mod packed;
mod promoted;
mod shadow;
mod stand;
#[path = "../reload/steady.rs"]
mod steady;
mod swap;
