//! Reads a line that looks like the last one: an object of texts, whole numbers and nulls under names that are expected.
//! Nearly every line of a log is one, and it is read by comparing, without a parser. Whatever else a line has, it is
//! for the parser: nothing is decided here about what is JSON and what is not.

/// The most digits of a number that is taken as it is written; more may be beyond 64 bits.
const MOST_DIGITS: usize = 19;

/// How much of a line is compared as one number.
const AT_ONCE: usize = 16;

/// A name that is expected, and what is asked for under it.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    /// The name in quotes, and the colon.
    written: Vec<u8>,
    /// With the mark before it and the quotation mark of a text, which most values are.
    usual: Usual,
    /// The numbers of the fields.
    pub(super) fields: Vec<usize>,
    /// All of them are the value itself, and nothing in it.
    whole: bool,
}

/// What most lines have in a place.
#[derive(Debug)]
struct Usual {
    text: Vec<u8>,
    /// Its beginning as a number, and which bits of that are not behind its end.
    start: u128,
    mask: u128,
}

impl Expected {
    pub(super) fn new(first: bool, name: &str, fields: Vec<usize>, whole: bool) -> Self {
        // A name that needs escapes is never met: lines with escapes are not read here.
        let written = format!("{}:", serde_json::Value::from(name)).into_bytes();
        let mark: &[u8] = if first { b"{" } else { b"," };
        Self {
            name: name.to_owned(),
            usual: Usual::new([mark, written.as_slice(), b"\""].concat()),
            written,
            fields,
            whole,
        }
    }
}

impl Usual {
    fn new(text: Vec<u8>) -> Self {
        let (mut start, mut mask) = ([0; AT_ONCE], [0; AT_ONCE]);
        for ((byte, bits), of_text) in start.iter_mut().zip(&mut mask).zip(&text) {
            (*byte, *bits) = (*of_text, u8::MAX);
        }
        Self {
            text,
            start: u128::from_le_bytes(start),
            mask: u128::from_le_bytes(mask),
        }
    }

    /// What follows it in `rest`; `None` where that begins otherwise, or is nearly over.
    #[inline]
    fn strip<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let start = u128::from_le_bytes(*rest.first_chunk::<AT_ONCE>()?);
        if start & self.mask != self.start {
            return None;
        }
        if self.text.len() <= AT_ONCE {
            rest.get(self.text.len()..)
        } else {
            rest.strip_prefix(self.text.as_slice())
        }
    }
}

/// Reads a line and hands `set` each value that is asked for, and where in the line it begins. `None`: it is for the parser;
/// what was handed out of it is void.
pub(super) fn read(
    line: &[u8],
    expected: &[Expected],
    mut set: impl FnMut(usize, &[u8], usize),
) -> Option<()> {
    if !is_plain(line) {
        return None;
    }
    let mut expected = expected.iter();
    let mut mark = b'{';
    let mut rest = line;
    loop {
        let mut next = expected.clone();
        let as_usual = next
            .next()
            .and_then(|known| Some((known, known.usual.strip(rest)?)));
        let (found, value, behind) = match as_usual {
            Some((known, rest)) => {
                expected = next;
                let (text, behind) = text(rest)?;
                (known, Some(text), behind)
            }
            None => {
                rest = spaces(rest.strip_prefix(&[mark])?);
                // What is absent may be left out: names are passed over until one fits.
                let (found, behind) = expected.find_map(|expected| {
                    let behind = rest.strip_prefix(expected.written.as_slice())?;
                    Some((expected, behind))
                })?;
                let (value, behind) = value(spaces(behind))?;
                (found, value, spaces(behind))
            }
        };
        if !found.fields.is_empty() {
            if !found.whole {
                return None;
            }
            if let Some(value) = value {
                // Both are slices of the line.
                let start = value.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
                found
                    .fields
                    .iter()
                    .for_each(|field| set(*field, value, start));
            }
        }
        rest = behind;
        if rest == b"}" {
            return Some(());
        }
        mark = b',';
    }
}

/// Whether a line is UTF-8 without escapes and control characters, which no text may have as they are.
fn is_plain(line: &[u8]) -> bool {
    const ODD: u8 = 1;
    const BEYOND_ASCII: u8 = 0x80;
    // Not one comparison too early: the compiler makes 16 at once of it.
    let look = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'\\') | byte & BEYOND_ASCII;
    let seen = line.iter().fold(0, |seen, byte| seen | look(*byte));
    seen & ODD == 0 && (seen == 0 || simdutf8::basic::from_utf8(line).is_ok())
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
            let (text, behind) = text(rest)?;
            Some((Some(text), behind))
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

/// A text up to its quotation mark, and what follows that.
fn text(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (text, behind) = rest.split_at_checked(quote(rest)?)?;
    Some((text, behind.get(1..)?))
}

/// Where the next quotation mark is. Eight bytes are looked at as one number: values are short, and this takes a third of
/// what setting up a search in a long text does.
fn quote(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    let (eights, rest) = text.as_chunks::<8>();
    let mut start = 0_usize;
    for eight in eights {
        // A quotation mark becomes a zero byte, and the lowest zero byte is the lowest that borrows.
        let zeros = u64::from_le_bytes(*eight) ^ QUOTES;
        let found = zeros.wrapping_sub(ONES) & !zeros & HIGH;
        if found != 0 {
            return Some(start.saturating_add(found.trailing_zeros() as usize >> 3));
        }
        start = start.saturating_add(8);
    }
    let place = rest.iter().position(|byte| *byte == b'"')?;
    Some(start.saturating_add(place))
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use crate::simulate::field::Fields;
    use crate::simulate::record::Record;

    const USUAL: &str =
        r#"{"time":"2025-11-29T10:00:00Z","x":1,"path":"/a","account":"bob","status":200}"#;

    fn read(reader: &mut Reader, line: &str) -> Result<Vec<Vec<u8>>, String> {
        let mut record = Record::default();
        reader.read(line.as_bytes(), &mut record)?;
        let fields = 0..Fields::new(&[]).unwrap().len();
        let mut values: Vec<_> = fields.map(|field| record.get(field).to_vec()).collect();
        values.push(format!("{} {}", record.time, record.status).into());
        Ok(values)
    }

    /// Whether a line is read without the parser by somebody who has read the usual one, who finds in it what a parser does.
    fn is_flat(line: &str) -> bool {
        let fields = Fields::new(&[]).unwrap();
        let mut reader = Reader::new(&fields);
        let known = read(&mut reader, USUAL);
        assert!(known.is_ok());
        let flat = super::read(line.as_bytes(), reader.last(), |_, _, _| {}).is_some();
        let fresh = read(&mut Reader::new(&fields), line);
        assert_eq!(read(&mut reader, line), fresh, "{line}");
        assert!(fresh.is_ok() || !flat, "{line}");
        flat
    }

    #[test]
    fn a_line_like_the_last_is_read_as_the_parser_reads_it() {
        for line in [
            USUAL,
            r#"{"time":"2025-11-29T10:00:01Z","x":"","path":null,"account":"-","status":429}"#,
            r#"{ "time": "2025-11-29T10:00:01Z", "path": "/ü{}[],:" }"#,
            r#"{"time":1764410400123456789,"account":"a-name-that-is-as-long-as-thirty-two-bytes"}"#,
        ] {
            assert!(is_flat(line), "{line}");
        }
    }

    #[test]
    fn what_is_not_like_the_last_is_for_the_parser() {
        let head = r#"{"time":"2025-11-29T10:00:00Z""#;
        for rest in [
            r#","account":"a\"b"}"#,
            r#","account":"a\u0041"}"#,
            ",\"account\":\"a\tb\"}",
            r#","account":["a"]}"#,
            r#","account":{"a":1}}"#,
            r#","account":true}"#,
            r#","x":1.5}"#,
            r#","x":1e3}"#,
            r#","x":-1}"#,
            r#","x":0}"#,
            r#","x":01}"#,
            r#","account":18446744073709551616}"#,
            r#","account":nullx}"#,
            r#","account":"a""#,
            r#","account":"a"#,
            r#","account":"a"}}"#,
            r#","account":"a"} x"#,
            r#","account":"a",}"#,
            r#","account":"a" "status":200}"#,
            r#","account","a"}"#,
            r#","new":"b","account":"a"}"#,
            r#","account":"a","account":"b"}"#,
            "",
        ] {
            assert!(!is_flat(&format!("{head}{rest}")), "{rest}");
        }
        assert!(!is_flat("{}"));
        assert!(!is_flat(r#"{"account":"a"}x"#));
    }
}
