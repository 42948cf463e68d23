//! Header maps in the ABI's encoding: the number of pairs, the two lengths of each, then each name and value
//! with a NUL behind it, all numbers 32 bits little-endian.

/// One header line.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// Reads a header map without copying; `None` where the bytes are not one.
pub(crate) fn read(bytes: &[u8]) -> Option<Vec<Pair<'_>>> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let (lengths, mut rest) = rest.split_at_checked(count.checked_mul(8)?)?;
    let mut text = |length: &[u8; 4]| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (text, after) = rest.split_at_checked(length)?;
        let (_nul, after) = after.split_first()?;
        rest = after;
        Some(text)
    };
    let (lengths, _) = lengths.as_chunks::<4>();
    let (lengths, _) = lengths.as_chunks::<2>();
    lengths
        .iter()
        .map(|[name, value]| Some((text(name)?, text(value)?)))
        .collect()
}

/// The value of the first line of a header.
pub(crate) fn first<'a>(pairs: &[Pair<'a>], name: &[u8]) -> Option<&'a [u8]> {
    let (_, value) = pairs.iter().find(|(header, _)| *header == name)?;
    Some(value)
}

/// The status of a response; 0 where it has none.
pub(crate) fn status(pairs: &[Pair<'_>]) -> u16 {
    first(pairs, b":status")
        .and_then(|status| str::from_utf8(status).ok()?.parse().ok())
        .unwrap_or(0)
}

/// Writes a header map.
pub(crate) fn write(pairs: &[Pair<'_>]) -> Vec<u8> {
    let length = |text: &[u8]| u32::try_from(text.len()).unwrap_or(0).to_le_bytes();
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(&u32::try_from(pairs.len()).unwrap_or(0).to_le_bytes());
    for (name, value) in pairs {
        bytes.extend_from_slice(&length(name));
        bytes.extend_from_slice(&length(value));
    }
    for (name, value) in pairs {
        for text in [name, value] {
            bytes.extend_from_slice(text);
            bytes.push(0);
        }
    }
    bytes
}
