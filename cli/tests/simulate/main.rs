//! `tidegate simulate` as a process.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on fails"
)]

mod against;
mod docs;
mod html;
mod incidents;
mod load;
mod logs;
mod memory;
mod run;
