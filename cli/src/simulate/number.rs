//! Whole numbers as floats, and back.

/// The nearest float: exact below 2^53.
#[allow(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "times and counts below 2^53 are exact; above that an estimate is enough"
)]
pub(crate) const fn float(number: u64) -> f64 {
    number as f64
}

/// The whole part of a float; 0 for what is below, and the largest number for what is above.
#[allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest number that there is"
)]
pub(crate) const fn whole(number: f64) -> u64 {
    number as u64
}
