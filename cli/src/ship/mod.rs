//! Shipping: a packed module put where a running Envoy finds it, and taken back again.
//!
//! A folder holds one resource file for each place that Envoy discovers ([`slot`]), and the modules that they mount. A
//! change ([`change`]) rewrites resource files by renames ([`make`]), waits until Envoy has taken them and every worker runs them
//! ([`settle`]), and otherwise puts back what was there.

pub(crate) mod admin;
pub(crate) mod canary;
pub(crate) mod change;
mod file;
pub(crate) mod folder;
mod history;
mod lock;
pub(crate) mod make;
mod module;
pub(crate) mod mount;
mod resource;
mod settle;
pub(crate) mod slot;

pub(crate) use admin::Admin;
pub(crate) use change::Change;
pub(crate) use folder::Folder;
pub(crate) use make::Done;
pub(crate) use module::Module;
pub(crate) use mount::{Held, Mount};
pub(crate) use slot::Slot;
