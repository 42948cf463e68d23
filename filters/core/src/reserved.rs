//! Names that are Tidegate's own: a request that brings one from outside is refused.

use crate::identity::decode_percent;
use crate::request::{Request, hyphened};

/// The beginning of every reserved header name.
pub const HEADER_PREFIX: &str = "x-tidegate-";

/// How much of a name is shown, in bytes.
const MOST_SHOWN: usize = 64;

/// The reserved parameter of the query.
pub const PARAMETER: &[u8] = b"__tidegate";

/// Whether a header name is reserved, in either case. Underscores count as hyphens, because some origins read
/// them alike.
pub fn is_header(name: &[u8]) -> bool {
    let prefix = HEADER_PREFIX.as_bytes();
    name.len() >= prefix.len()
        && name
            .iter()
            .zip(prefix)
            .all(|(byte, wanted)| hyphened(byte.to_ascii_lowercase()) == *wanted)
}

/// The first reserved name in `request`, as a person may be shown it.
///
/// The name of a parameter counts in every percent-encoding.
pub fn find(request: &Request<'_>) -> Option<String> {
    let mut names = request.headers.iter().map(|(name, _)| *name);
    let header = names.find(|name| is_header(name));
    if let Some(name) = header {
        let shown = name.get(..MOST_SHOWN).unwrap_or(name);
        return Some(String::from_utf8_lossy(shown).into_owned());
    }
    request
        .query()?
        .split(|byte| *byte == b'&' || *byte == b';')
        .any(|pair| {
            let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
            decode_percent(name, true).is_some_and(|name| *name == *PARAMETER)
        })
        .then(|| String::from_utf8_lossy(PARAMETER).into_owned())
}
