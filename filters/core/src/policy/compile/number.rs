//! Whole numbers and their bounds.

use deserr::ValuePointerRef;

use crate::policy::faults::Faults;
use crate::quota::MAX_INTEGER;

/// The most a number in a document may be.
pub(super) const ANY: std::ops::RangeInclusive<u64> = 1..=MAX_INTEGER;

/// A number inside its bounds.
pub(super) fn within(
    value: u64,
    bounds: std::ops::RangeInclusive<u64>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<u64> {
    if bounds.contains(&value) {
        return Some(value);
    }
    let (least, most) = (grouped(*bounds.start()), grouped(*bounds.end()));
    faults.add(
        at,
        format!("`{value}` is out of range; write a whole number from {least} to {most}"),
    );
    None
}

/// Decimal digits without sign or leading zeros. Numbers above 64 bits become the largest of them: every
/// bound is far below.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    (digits && !leading_zero).then(|| text.parse().unwrap_or(u64::MAX))
}

/// A number as people read it: `65,536`.
#[cfg_attr(
    not(feature = "cases"),
    allow(unreachable_pub, reason = "tools alone are shown it from outside")
)]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (MAX_INTEGER, "999,999,999,999,999"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn decimal_digits_have_one_spelling() {
        for text in ["", "+1", "-1", "01", "1 ", "1.0", "1e3", "١"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal("0"), Some(0));
        assert_eq!(decimal("99999999999999999999999"), Some(u64::MAX));
    }
}
