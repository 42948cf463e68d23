//! The end-to-end harness: a real Envoy with the module in it, an origin behind it and a client before it.
//!
//! Every port is a free one, every wait is for a condition and bounded ([`wait::eventually`]), and an [`Envoy`]
//! that goes out of scope is killed. Tests fail by panicking: a harness that is dropped while its thread panics prints
//! the end of Envoy's log and keeps its folder.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the harness runs beside tests, where stopping at the fault is what is wanted"
)]

pub mod bench;
pub mod browser;
pub mod cache;
pub mod client;
pub mod envoy;
pub mod flood;
pub mod jwt;
pub mod origin;
pub mod proxy;
pub mod python;
pub mod raw;
pub mod structured;
pub mod tls;
pub mod tool;
pub mod wait;

pub use browser::Browser;
pub use client::{Answer, Client};
pub use envoy::Envoy;
pub use flood::flood;
pub use origin::{Origin, RawOrigin, Reply, Seen};
pub use proxy::Proxy;
pub use wait::eventually;

use std::path::{Path, PathBuf};

/// The root of the repository.
#[must_use]
pub fn repo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
