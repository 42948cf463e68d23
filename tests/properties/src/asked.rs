//! A request that bytes stand for: a line of method, path and authority, then header lines, each `name: value`.

use tidegate_core::cases::CaseFacts;
use tidegate_core::request::Request;

/// A header line.
pub(crate) type Line<'a> = (&'a [u8], &'a [u8]);

/// A request, as far as bytes say it.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    pub(crate) authority: &'a [u8],
    pub(crate) headers: Vec<(Vec<u8>, &'a [u8])>,
}

impl<'a> Asked<'a> {
    /// The request that these bytes stand for; a part that is missing is empty.
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let mut words = lines
            .next()
            .unwrap_or_default()
            .splitn(3, |byte| *byte == b' ');
        let mut word = || words.next().unwrap_or_default();
        Self {
            method: word(),
            path: word(),
            authority: word(),
            headers: lines.filter_map(header).collect(),
        }
    }

    /// Its header lines.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let lines = self.headers.iter();
        lines.map(|(name, value)| (&name[..], *value)).collect()
    }

    /// The request, with these header lines.
    pub(crate) fn request<'r>(
        &'r self,
        headers: &'r [Line<'r>],
        facts: &'r CaseFacts,
    ) -> Request<'r> {
        Request {
            method: self.method,
            path: self.path,
            authority: self.authority,
            headers,
            facts,
        }
    }
}

/// A header line as Envoy hands it over: a name in lower case, a value without space around it. It hands over one path, and no
/// name that begins with a colon beside those of the request itself (`tests/e2e/tests/raw_bytes.rs`).
fn header(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    if colon == 0 {
        return None;
    }
    let (name, value) = line.split_at(colon);
    Some((name.to_ascii_lowercase(), value[1..].trim_ascii()))
}
