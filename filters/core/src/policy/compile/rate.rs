//! Rates and bursts.

use deserr::ValuePointerRef;

use super::number::{ANY, decimal, grouped, within};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::quota::{MAX_INTEGER, MAX_UNITS_PER_SEC, Period, Quota, QuotaError, Rate};

/// What a missing rate is told to be.
const EXAMPLE: &str = "a number and a unit, like `60/min`";

/// The bucket of a limit, plan or override that stands at `at`.
pub(super) fn quota(
    rate: Option<String>,
    burst: Option<u64>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<Quota> {
    let rate = match rate {
        Some(text) => parse(&text, at.push_key("rate"), faults),
        None => {
            faults.missing(at, "rate", EXAMPLE);
            None
        }
    };
    let at_burst = at.push_key("burst");
    let burst = match burst {
        Some(burst) => Some(within(burst, ANY, at_burst, faults)?),
        None => None,
    };
    let rate = rate?;
    match Quota::new(rate, burst.unwrap_or_else(|| rate.minutes_worth())) {
        Ok(quota) => Some(quota),
        Err(error) => {
            faults.add(at_burst, refused(error, rate));
            None
        }
    }
}

fn parse(text: &str, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<Rate> {
    let parts = text.split_once('/').and_then(|(units, unit)| {
        let period = match unit {
            "s" => Period::Second,
            "min" => Period::Minute,
            "h" => Period::Hour,
            "day" => Period::Day,
            _ => return None,
        };
        Some((decimal(units)?, period))
    });
    let shown = shown(text);
    let Some((units, period)) = parts else {
        let near = near(text).unwrap_or_else(|| "60/min".to_owned());
        faults.add(
            at,
            format!(
                "`{shown}` is not a rate; write a number and a unit, like `{near}` (units: s, min, h, day)"
            ),
        );
        return None;
    };
    match Rate::new(units, period) {
        Ok(rate) => Some(rate),
        Err(QuotaError::ZeroRate) => {
            faults.add(
                at,
                format!("`{shown}` lets nothing through; write at least `1/day`"),
            );
            None
        }
        Err(_) => {
            let most = grouped(MAX_UNITS_PER_SEC);
            faults.add(
                at,
                format!("`{shown}` is faster than {most} a second; write a slower rate"),
            );
            None
        }
    }
}

/// The rate that was meant, where the number is right and the unit is a common other name.
fn near(text: &str) -> Option<String> {
    let (units, unit) = text.split_once('/')?;
    let units = decimal(units.trim()).filter(|units| (1..=MAX_INTEGER).contains(units))?;
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" => "s",
        "m" | "min" | "minute" | "minutes" => "min",
        "h" | "hr" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "day",
        _ => return None,
    };
    Some(format!("{units}/{unit}"))
}

fn refused(error: QuotaError, rate: Rate) -> String {
    match error {
        QuotaError::RefillTooLong => {
            format!(
                "a bucket of this size takes more than 366 days to refill at `{rate}`; write a smaller burst or a faster rate"
            )
        }
        QuotaError::ZeroRate
        | QuotaError::RateTooFast
        | QuotaError::ZeroBurst
        | QuotaError::BurstTooLarge => format!("no bucket of this size can refill at `{rate}`"),
    }
}
