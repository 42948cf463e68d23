//! Bytes as hexadecimal digits, and back.

use core::fmt::Write as _;

/// Two lower-case digits for each byte.
pub(crate) fn digits(bytes: &[u8]) -> String {
    let text = String::with_capacity(bytes.len().saturating_mul(2));
    bytes.iter().fold(text, |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes that so many digits say; `None` if it is another number of them, or if one is none.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    // A sign is no digit, though numbers may have one.
    let all = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if pairs.len() != N || !odd.is_empty() || !all {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
