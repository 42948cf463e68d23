//! Reads a line that looks like the last one: an object of texts, whole numbers and nulls under names that are expected.
//! Nearly every line of a log is one, and it is read by comparing, without a parser. Whatever else a line has, it is
//! for the parser: nothing is decided here about what is JSON and what is not.

/// The most digits of a number that is taken as it is written; more may be beyond 64 bits.
const MOST_DIGITS: usize = 19;

/// A name that is expected, and what is asked for under it.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    /// The name in quotes, and the colon.
    written: Vec<u8>,
    /// The numbers of the fields.
    pub(super) fields: Vec<usize>,
    /// All of them are the value itself, and nothing in it.
    whole: bool,
}

impl Expected {
    pub(super) fn new(name: &str, fields: Vec<usize>, whole: bool) -> Self {
        // A name that needs escapes is never met: lines with escapes are not read here.
        let written = format!("{}:", serde_json::Value::from(name)).into_bytes();
        Self {
            name: name.to_owned(),
            written,
            fields,
            whole,
        }
    }
}

/// Reads a line, which is UTF-8, and hands each value that is asked for to `set`. `None`: it is for the parser; what
/// was handed out of it is void.
pub(super) fn read(
    line: &[u8],
    expected: &[Expected],
    mut set: impl FnMut(usize, &[u8]),
) -> Option<()> {
    if !is_plain(line) {
        return None;
    }
    let mut expected = expected.iter();
    let mut mark = b'{';
    let mut rest = line;
    loop {
        rest = spaces(rest.strip_prefix(&[mark])?);
        // What is absent may be left out: names are passed over until one fits.
        let (found, behind) = expected.find_map(|expected| {
            let behind = rest.strip_prefix(expected.written.as_slice())?;
            Some((expected, behind))
        })?;
        let (text, behind) = value(spaces(behind))?;
        if !found.fields.is_empty() {
            if !found.whole {
                return None;
            }
            if let Some(text) = text {
                found.fields.iter().for_each(|field| set(*field, text));
            }
        }
        rest = spaces(behind);
        if rest == b"}" {
            return Some(());
        }
        mark = b',';
    }
}

/// Without escapes and control characters, which no text may have as they are. Not one comparison too early: the
/// compiler makes 16 at once of it.
fn is_plain(line: &[u8]) -> bool {
    let odd = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'\\');
    line.iter().fold(0, |any, byte| any | odd(*byte)) == 0
}

fn spaces(mut rest: &[u8]) -> &[u8] {
    while let [b' ', behind @ ..] = rest {
        rest = behind;
    }
    rest
}

/// A value and what follows it; `null` is no text. `None`: it is of another kind.
fn value(rest: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    match rest {
        [b'"', rest @ ..] => {
            let (text, behind) = rest.split_at_checked(memchr::memchr(b'"', rest)?)?;
            Some((Some(text), behind.get(1..)?))
        }
        [b'1'..=b'9', ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
            let (digits, behind) = rest.split_at_checked(digits.count())?;
            let ends = matches!(behind, [b',' | b' ' | b'}', ..]);
            (ends && digits.len() <= MOST_DIGITS).then_some((Some(digits), behind))
        }
        _ => Some((None, rest.strip_prefix(b"null")?)),
    }
}
