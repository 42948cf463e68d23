//! Durations: a number and a unit, in nanoseconds.

use std::ops::RangeInclusive;

use deserr::ValuePointerRef;

use super::number::decimal;
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::quota::NANOS_PER_SEC;

/// One second, in nanoseconds.
pub(super) const SECOND: u64 = NANOS_PER_SEC;

/// The units; longer names first where one ends in another.
const UNITS: [(&str, u64); 7] = [
    ("ms", NANOS_PER_SEC / 1_000),
    ("min", 60 * NANOS_PER_SEC),
    ("day", 86_400 * NANOS_PER_SEC),
    ("s", NANOS_PER_SEC),
    ("m", 60 * NANOS_PER_SEC),
    ("h", 3_600 * NANOS_PER_SEC),
    ("d", 86_400 * NANOS_PER_SEC),
];

/// A duration with its bounds, each as it is written in a document.
pub(super) struct Bounds {
    /// The shortest, in nanoseconds.
    pub(super) nanos: RangeInclusive<u64>,
    /// The bounds in words.
    pub(super) words: &'static str,
}

/// How long something is remembered.
pub(super) const MEMORY: Bounds = Bounds {
    nanos: SECOND..=366 * 86_400 * SECOND,
    words: "`1s` to `366d`",
};

/// How old a signature may be.
pub(super) const SIGNATURE_AGE: Bounds = Bounds {
    nanos: SECOND..=3_600 * SECOND,
    words: "`1s` to `1h`",
};

/// How long a call may take.
pub(super) const CALL: Bounds = Bounds {
    nanos: SECOND / 1_000..=3_600 * SECOND,
    words: "`1ms` to `1h`",
};

/// How long something may last until somebody is told.
pub(super) const WAIT: Bounds = Bounds {
    nanos: SECOND..=3_600 * SECOND,
    words: "`1s` to `1h`",
};

/// The nanoseconds of a duration inside its bounds.
pub(super) fn duration(
    text: &str,
    bounds: &Bounds,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<u64> {
    let Some(nanos) = nanos(text) else {
        let text = shown(text);
        faults.add(
            at,
            format!(
                "`{text}` is not a duration; write a number and a unit, like `90s` (units: ms, s, min, h, day)"
            ),
        );
        return None;
    };
    if !bounds.nanos.contains(&nanos) {
        let (text, words) = (shown(text), bounds.words);
        faults.add(at, format!("`{text}` is out of range; write {words}"));
        return None;
    }
    Some(nanos)
}

fn nanos(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(unit, nanos)| {
        let number = decimal(text.strip_suffix(unit)?)?;
        Some(number.saturating_mul(*nanos))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, expected) in [
            ("500ms", SECOND / 2),
            ("1s", SECOND),
            ("2m", 120 * SECOND),
            ("2min", 120 * SECOND),
            ("3h", 10_800 * SECOND),
            ("1d", 86_400 * SECOND),
            ("1day", 86_400 * SECOND),
        ] {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
        for text in [
            "", "s", "60", "1.5h", "-1s", "1 s", "01s", "1S", "1w", "1minute",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
