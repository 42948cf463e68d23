//! Moments and lengths of time as people and programs read them.

use std::time::Duration;

use speedate::DateTime;

const SECOND: u64 = 1_000_000_000;

/// A moment that somebody wrote, in nanoseconds since 1970.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let time = DateTime::parse_bytes_rfc3339(text.as_bytes()).ok()?;
    time.time.tz_offset?;
    let seconds = u64::try_from(time.timestamp_tz()).ok()?;
    let below = u64::from(time.time.microsecond).checked_mul(1_000)?;
    seconds.checked_mul(SECOND)?.checked_add(below)
}

/// `2026-11-29T10:00:00`.
fn whole(nanos: u64) -> String {
    let seconds = i64::try_from(nanos / SECOND).unwrap_or(0);
    DateTime::from_timestamp(seconds, 0).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

/// To the millisecond: `2026-11-29T10:00:00.123Z`.
pub(crate) fn shown(nanos: u64) -> String {
    let millis = (nanos % SECOND) / 1_000_000;
    format!("{}.{millis:03}Z", whole(nanos))
}

/// To the nanosecond.
pub(crate) fn precise(nanos: u64) -> String {
    format!("{}.{:09}Z", whole(nanos), nanos % SECOND)
}

/// The time of day, with the date where a whole log spans more than a day: for people.
pub(crate) fn brief(nanos: u64, days: bool) -> String {
    let whole = whole(nanos);
    let (date, time) = whole.split_once('T').unwrap_or(("", &whole));
    if days {
        format!("{date} {time}")
    } else {
        time.to_owned()
    }
}

/// A length of time in seconds, for programs.
pub(crate) fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// A length of time for people, with two units at most: `1h 5m`, `2m 3s`, `4.2s`, `20ms`.
pub(crate) fn length(nanos: u64) -> String {
    let total = nanos / SECOND;
    let (days, hours) = (total / 86_400, total / 3_600 % 24);
    let (minutes, seconds) = (total / 60 % 60, total % 60);
    if days > 0 {
        format!("{days}d {hours}h")
    } else if hours > 0 {
        format!("{hours}h {minutes}m")
    } else if minutes > 0 {
        format!("{minutes}m {seconds}s")
    } else if total > 0 {
        format!("{total}.{}s", (nanos % SECOND) / 100_000_000)
    } else {
        format!("{}ms", nanos / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read_back() {
        let moment = parse("2026-11-29T10:00:00.5Z").unwrap();
        assert_eq!(shown(moment), "2026-11-29T10:00:00.500Z");
        assert_eq!(precise(moment + 1), "2026-11-29T10:00:00.500000001Z");
        assert_eq!(brief(moment, false), "10:00:00");
        assert_eq!(brief(moment, true), "2026-11-29 10:00:00");
        assert_eq!(parse("2026-11-29T12:00:00.5+02:00"), Some(moment));
        assert_eq!(parse("2026-11-29T10:00:00"), None);
    }

    #[test]
    fn lengths_have_two_units_at_most() {
        let lengths = [
            20_000_000,
            4_250_000_000,
            123 * SECOND,
            3_900 * SECOND,
            90_000 * SECOND,
        ];
        let shown = lengths.map(length);
        assert_eq!(shown, ["20ms", "4.2s", "2m 3s", "1h 5m", "1d 1h"]);
    }
}
