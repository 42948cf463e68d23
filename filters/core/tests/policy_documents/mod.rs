//! Documents without mistakes.

/// The contract's example.
pub const STOREFRONT: &str = include_str!("storefront.json");

/// The least that a document says.
pub const SMALLEST: &str = include_str!("smallest.json");

/// Every key that this version enforces.
pub const ENFORCED: &str = include_str!("enforced.json");

/// Every key that it understands and does not enforce.
pub const EVERYTHING: &str = include_str!("everything.json");

/// All of them.
pub const GOOD: [&str; 4] = [STOREFRONT, SMALLEST, ENFORCED, EVERYTHING];
