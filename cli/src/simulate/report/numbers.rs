//! Numbers as people read them.

pub(crate) use tidegate_core::policy::grouped;

use crate::simulate::number::float;

/// A part of a whole: 0 to 1.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        float(part) / float(whole)
    }
}

/// `12.3 %`; what is not nothing is never shown as nothing, and what is not all never as all.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let percent = share(part, whole) * 100.0;
    if part > 0 && percent < 0.01 {
        "< 0.01 %".to_owned()
    } else if part < whole && percent > 99.99 {
        "> 99.99 %".to_owned()
    } else if (1.0..99.0).contains(&percent) || part == 0 || part == whole {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_are_honest() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(percent(0, 10), "0.0 %");
        assert_eq!(percent(1, 8), "12.5 %");
        assert_eq!(percent(1, 1_000_000), "< 0.01 %");
        assert_eq!(percent(999_999, 1_000_000), "> 99.99 %");
        assert_eq!(percent(5, 1_000), "0.50 %");
        assert_eq!(percent(10, 10), "100.0 %");
    }
}
