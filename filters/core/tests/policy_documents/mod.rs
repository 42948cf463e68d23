//! Documents without mistakes.

#![allow(dead_code, reason = "no test needs all of them by name")]

/// The contract's example.
pub(crate) const STOREFRONT: &str = include_str!("storefront.json");

/// The least that a document says.
pub(crate) const SMALLEST: &str = include_str!("smallest.json");

/// Every key about callers, limits and routes.
pub(crate) const ENFORCED: &str = include_str!("enforced.json");

/// Every key about caches, records and stores; of these the store alone is not enforced.
pub(crate) const EVERYTHING: &str = include_str!("everything.json");

/// All of them.
pub(crate) const GOOD: [&str; 4] = [STOREFRONT, SMALLEST, ENFORCED, EVERYTHING];
