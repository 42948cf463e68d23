//! `tidegate ship` and `tidegate rollback`, run as processes on a folder that no Envoy reads, and in front of something that answers as
//! Envoy does. What an Envoy makes of them is in the end-to-end tests.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod canary;
mod envoy;
mod fake;
mod folder;
mod left;
mod rollback;
mod stand;
