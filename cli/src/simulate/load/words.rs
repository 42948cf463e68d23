//! Rates and durations as a load writes them.

use serde::{Deserialize, Deserializer, de::Error as _};

/// `N/s|min|h|day`, in requests per second; fractions and zero are rates too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PerSecond(pub(crate) f64);

/// `90s`, `8m`, `11h`, `1day`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seconds(pub(crate) f64);

fn per_second(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once('/')?;
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "day" => 86_400.0,
        _ => return None,
    };
    (0.0..=1e9).contains(&number).then_some(number / seconds)
}

impl<'de> Deserialize<'de> for PerSecond {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        per_second(&text).map(Self).ok_or_else(|| {
            let hint = "write a number and a unit, like `40/s` (units: s, min, h, day)";
            D::Error::custom(format_args!("`{text}` is not a rate; {hint}"))
        })
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match humantime::parse_duration(&text) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration.as_secs_f64())),
            _ => Err(D::Error::custom(format_args!(
                "`{text}` is not a time; write a number and a unit, like `90s`, `8m` or `11h`"
            ))),
        }
    }
}
