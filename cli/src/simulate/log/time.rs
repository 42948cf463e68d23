//! Times as logs write them.

use speedate::DateTime;

use crate::simulate::number::{self, float};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// `2026-11-29T10:00:00`, and `Z` or an offset.
const TO_SECONDS: usize = 19;

/// Reads times, and remembers the last second: neighbours in a log have it in common.
#[derive(Debug, Default)]
pub(crate) struct Times {
    last: [u8; TO_SECONDS],
    seconds: u64,
}

impl Times {
    /// Nanoseconds since 1970: RFC 3339, or seconds, milliseconds, microseconds or nanoseconds as a number, told
    /// apart by their size. `None`: it is neither, or before 1970.
    pub(crate) fn read(&mut self, text: &[u8]) -> Option<u64> {
        if let Some((head, tail)) = text.split_first_chunk::<TO_SECONDS>()
            && matches!(head, [_, _, _, _, b'-', ..])
        {
            let (fraction, zone) = fraction(tail)?;
            let seconds = match zone {
                b"Z" if *head == self.last => self.seconds,
                _ => {
                    let seconds = whole(head, zone)?;
                    if zone == b"Z" {
                        self.last = *head;
                        self.seconds = seconds;
                    }
                    seconds
                }
            };
            return seconds.checked_mul(SECOND)?.checked_add(fraction);
        }
        number(text)
    }
}

/// The seconds of a time without its fraction.
fn whole(head: &[u8], zone: &[u8]) -> Option<u64> {
    let mut text = Vec::with_capacity(32);
    text.extend_from_slice(head);
    text.extend_from_slice(zone);
    let time = DateTime::parse_bytes_rfc3339(&text).ok()?;
    // Without an offset nobody knows which hour was meant.
    time.time.tz_offset?;
    u64::try_from(time.timestamp_tz()).ok()
}

/// The fraction of a second in nanoseconds, and what follows it.
fn fraction(tail: &[u8]) -> Option<(u64, &[u8])> {
    let Some(rest) = tail.strip_prefix(b".").or_else(|| tail.strip_prefix(b",")) else {
        return Some((0, tail));
    };
    let (nanos, zone) = nanos(rest);
    (zone.len() < rest.len()).then_some((nanos, zone))
}

/// The digits behind the point in billionths, and what follows them; what is finer is cut off.
fn nanos(text: &[u8]) -> (u64, &[u8]) {
    let (mut number, mut unit) = (0_u64, SECOND);
    let mut rest = text;
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        if unit > 1 {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit & 15));
            unit /= 10;
        }
        rest = behind;
    }
    (number.wrapping_mul(unit), rest)
}

/// A number since 1970. Its size says its unit: 10^11 seconds are the year 5138, 10^11 milliseconds 1973.
fn number(text: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if !part.bytes().all(|b| b.is_ascii_digit()) || part.is_empty() {
        // Such as 1.7e9.
        return from_float(text.parse().ok()?);
    }
    let Ok(whole) = whole.parse::<u64>() else {
        return from_float(text.parse().ok()?);
    };
    let unit = unit(whole);
    let below = nanos(part.as_bytes())
        .0
        .checked_mul(unit)?
        .checked_div(SECOND)?;
    whole.checked_mul(unit)?.checked_add(below)
}

/// How many nanoseconds one of a number like this stands for.
const fn unit(number: u64) -> u64 {
    match number {
        0..100_000_000_000 => SECOND,
        100_000_000_000..100_000_000_000_000 => 1_000_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000,
        _ => 1,
    }
}

fn from_float(seconds: f64) -> Option<u64> {
    if !(0.0..9.0e18).contains(&seconds) {
        return None;
    }
    let nanos = seconds * float(unit(number::whole(seconds)));
    (nanos < 1.8e19).then_some(number::whole(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<u64> {
        Times::default().read(text.as_bytes())
    }

    #[test]
    fn one_moment_is_one_moment_however_it_is_written() {
        let moment = Some(1_764_410_400_123_000_000);
        for text in [
            "2025-11-29T10:00:00.123Z",
            "2025-11-29T10:00:00.123000000Z",
            "2025-11-29T12:00:00.123+02:00",
            "2025-11-29T05:30:00.123-04:30",
            "1764410400.123",
            "1764410400123",
            "1764410400123000",
            "1764410400123000000",
        ] {
            assert_eq!(read(text), moment, "{text}");
        }
        assert_eq!(
            read("2025-11-29T10:00:00Z"),
            Some(1_764_410_400_000_000_000)
        );
        assert_eq!(read("1.7644104e9"), Some(1_764_410_400_000_000_000));
        assert_eq!(
            read("2025-11-29T10:00:00.123456789Z"),
            Some(1_764_410_400_123_456_789)
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            "yesterday",
            "2025-11-29",
            "2025-11-29T10:00:00",
            "2025-13-29T10:00:00Z",
            "2025-11-29T10:00:00.Z",
            "-1",
            "NaN",
            "1e300",
            "29/Nov/2025:10:00:00 +0000",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_second_that_is_remembered_is_the_right_one() {
        let mut times = Times::default();
        let first = times.read(b"2025-11-29T10:00:00.5Z").unwrap();
        assert_eq!(
            times.read(b"2025-11-29T10:00:00.7Z"),
            Some(first + 200_000_000)
        );
        assert_eq!(
            times.read(b"2025-11-29T10:00:01.5Z"),
            Some(first + 1_000_000_000)
        );
        assert_eq!(
            times.read(b"2025-11-29T10:00:01.5+01:00"),
            Some(first + 1_000_000_000 - 3_600_000_000_000)
        );
        assert_eq!(
            times.read(b"2025-11-29T10:00:01.5Z"),
            Some(first + 1_000_000_000)
        );
    }
}
