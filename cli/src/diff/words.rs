//! Values as a policy writes them.

use tidegate_core::policy::{Dimension, LimitId, Policy, StoreErrorRule};

/// `a`, `b`: each in backticks; `nothing` if there are none.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let names: Vec<String> = names.iter().map(|n| format!("`{}`", n.as_ref())).collect();
    names.join(", ")
}

/// Dimensions, to be read after `per`.
pub(super) fn dimensions(dimensions: &[Dimension]) -> String {
    let names: Vec<String> = dimensions.iter().map(Dimension::to_string).collect();
    names.join(", ")
}

/// The names of limits.
pub(super) fn limits<'p>(policy: &'p Policy, ids: &[LimitId]) -> Vec<&'p str> {
    ids.iter()
        .filter_map(|id| policy.limits.get(id.0))
        .map(|limit| limit.name.as_str())
        .collect()
}

/// A time as a policy writes it, in its largest whole unit.
pub(super) fn duration(nanos: u64) -> String {
    const UNITS: [(&str, u64); 5] = [
        ("day", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
    ];
    let whole = UNITS
        .iter()
        .find(|(_, unit)| nanos >= *unit && nanos.is_multiple_of(*unit));
    match whole {
        Some((name, unit)) => format!("{}{name}", nanos.checked_div(*unit).unwrap_or(0)),
        None => format!("{nanos}ns"),
    }
}

/// A size as a policy writes it.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 2] = [("MiB", 1024 * 1024), ("KiB", 1024)];
    let whole = UNITS
        .iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match whole {
        Some((name, unit)) => format!("{}{name}", bytes.checked_div(*unit).unwrap_or(0)),
        None => format!("{bytes}B"),
    }
}

pub(super) const fn rule(rule: StoreErrorRule) -> &'static str {
    match rule {
        StoreErrorRule::Reject => "answered with 503",
        StoreErrorRule::Pass => "let through",
    }
}
