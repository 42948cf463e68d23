//! Caches of other makers, to stand between two Envoys: Varnish and nginx, the real ones.
//!
//! They need not be installed: a test that wants one asks [`skipped`] first.

pub(crate) mod nginx;
mod program;
pub(crate) mod server;
mod varnish;

pub use nginx::Nginx;
pub use program::{Program, skipped};
pub use varnish::Varnish;
