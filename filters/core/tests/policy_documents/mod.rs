//! Documents without mistakes.

#![allow(dead_code, reason = "no test needs all of them by name")]

/// The contract's example.
pub(crate) const STOREFRONT: &str = include_str!("storefront.json");

/// The least that a document says.
pub(crate) const SMALLEST: &str = include_str!("smallest.json");

/// Every key that this version enforces.
pub(crate) const ENFORCED: &str = include_str!("enforced.json");

/// Every key that it understands and does not enforce.
pub(crate) const EVERYTHING: &str = include_str!("everything.json");

/// All of them.
pub(crate) const GOOD: [&str; 4] = [STOREFRONT, SMALLEST, ENFORCED, EVERYTHING];
