//! Percent-encoding (RFC 3986, section 2.1), read strictly.

use std::borrow::Cow;

/// The bytes that `text` stands for; `plus` says that a plus sign is a space, as forms write it.
/// `None` where a percent sign is not followed by two hex digits.
pub(crate) fn decode(text: &[u8], plus: bool) -> Option<Cow<'_, [u8]>> {
    let special = |byte: &u8| *byte == b'%' || (plus && *byte == b'+');
    if !text.iter().any(special) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        decoded.push(match byte {
            b'%' => hex(rest.next()?)?
                .checked_mul(16)?
                .checked_add(hex(rest.next()?)?)?,
            b'+' if plus => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(decoded))
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
