//! The lines of a message's headers, whose names are in lower case.

/// A header line.
pub(super) type Line<'a> = (&'a [u8], &'a [u8]);

/// The values of a header, in order.
pub(super) fn find<'h, 'a>(
    headers: &'h [Line<'a>],
    wanted: &'h [u8],
) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |(name, _)| *name == wanted)
        .map(|(_, value)| *value)
}

/// The value of a header that has one line.
pub(super) fn one<'a>(headers: &[Line<'a>], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut lines = find(headers, wanted);
    let value = lines.next()?;
    lines.next().is_none().then_some(value)
}

/// The values of a header as one (RFC 9110, section 5.3); `None` if it is not there.
pub(super) fn joined(headers: &[Line<'_>], wanted: &[u8]) -> Option<Vec<u8>> {
    let values: Vec<&[u8]> = find(headers, wanted).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}
