//! Sizes: a number and a unit, in bytes.

use deserr::ValuePointerRef;

use super::number::decimal;
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;

/// One mebibyte, in bytes.
pub(super) const MIB: u64 = 1024 * 1024;

/// The units; longer names first where one ends in another.
const UNITS: [(&str, u64); 3] = [("KiB", 1024), ("MiB", MIB), ("B", 1)];

/// The bytes of a size of at least one byte and at most `most_mib` mebibytes.
pub(super) fn size(
    text: &str,
    most_mib: u64,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<u64> {
    let bytes = UNITS.iter().find_map(|(unit, bytes)| {
        let number = decimal(text.strip_suffix(unit)?)?;
        Some(number.saturating_mul(*bytes))
    });
    let shown = shown(text);
    let Some(bytes) = bytes else {
        faults.add(
            at,
            format!("`{shown}` is not a size; write a number and a unit, like `64KiB` (units: B, KiB, MiB)"),
        );
        return None;
    };
    if bytes == 0 || bytes > most_mib.saturating_mul(MIB) {
        faults.add(
            at,
            format!("`{shown}` is out of range; write `1B` to `{most_mib}MiB`"),
        );
        return None;
    }
    Some(bytes)
}
