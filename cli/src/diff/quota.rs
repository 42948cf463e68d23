//! Whether a bucket is worth more or less.

use tidegate_core::quota::Quota;

use super::change::Kind;

/// In which direction a quota changed; `None` if it did not.
pub(super) fn direction(old: Quota, new: Quota) -> Option<Kind> {
    let pace = |quota: Quota, other: Quota| {
        let units = u128::from(quota.rate().units());
        units.saturating_mul(u128::from(other.rate().period().nanos()))
    };
    let rate = pace(new, old).cmp(&pace(old, new));
    let burst = new.burst().cmp(&old.burst());
    match (rate, burst) {
        (core::cmp::Ordering::Equal, core::cmp::Ordering::Equal) => None,
        (rate, burst) if rate.is_ge() && burst.is_ge() => Some(Kind::Looser),
        (rate, burst) if rate.is_le() && burst.is_le() => Some(Kind::Stricter),
        // Faster and smaller, or slower and larger: who bursts and who goes on are decided about apart.
        _ => Some(Kind::Changed),
    }
}

pub(super) fn shown(quota: Quota) -> String {
    format!("{} burst {}", quota.rate(), quota.burst())
}
