//! `tidegate pack` and `tidegate inspect`, run as processes.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod inspect;
mod pack;
mod stand;
