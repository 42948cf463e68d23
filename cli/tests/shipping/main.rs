//! `tidegate ship` and `tidegate rollback`, run as processes on a folder that no Envoy reads. What an Envoy makes of them is
//! in the end-to-end tests.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod envoy;
mod folder;
mod stand;
