//! The client's key (draft-ietf-httpapi-idempotency-key-header-07).

use core::convert::Infallible;

use sfv::visitor::{Ignored, ItemVisitor, ParameterVisitor};
use sfv::{BareItemFromInput, Parser};

/// The header.
pub const HEADER: &str = "idempotency-key";

/// The key of a request's lines; `None` if there is no line.
///
/// It is a String Item of structured fields (RFC 9651), whose parameters say nothing. A lenient reader takes visible text
/// without quotes, as most clients send it, for the same text in quotes.
///
/// # Errors
/// What is wrong with it, to be read after the header's name.
pub fn read<'a>(
    mut lines: impl Iterator<Item = &'a [u8]>,
    lenient: bool,
    max_length: usize,
) -> Result<Option<Vec<u8>>, &'static str> {
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err("is present twice; send it once");
    }
    let line = line.trim_ascii();
    let key = match line.first() {
        Some(b'"') => quoted(line),
        Some(_) if lenient => bare(line),
        _ => None,
    };
    let Some(key) = key else {
        return Err(if lenient {
            "is not a key; send text in quotes, like `\"8e03978e-40d5-43e8\"`, or visible text without"
        } else {
            "is not a key; send text in quotes, like `\"8e03978e-40d5-43e8\"`"
        });
    };
    if key.is_empty() {
        return Err("is empty; send a key that is new for each request");
    }
    if key.len() > max_length {
        return Err("is too long; send a shorter one");
    }
    Ok(Some(key))
}

/// A String Item.
fn quoted(line: &[u8]) -> Option<Vec<u8>> {
    let mut key = None;
    Parser::new(line)
        .parse_item_with_visitor(Text(&mut key))
        .ok()?;
    key
}

/// Text without quotes, and parameters behind it.
fn bare(line: &[u8]) -> Option<Vec<u8>> {
    let end = line
        .iter()
        .position(|byte| *byte == b';')
        .unwrap_or(line.len());
    let (key, parameters) = line.split_at_checked(end)?;
    let key = key.trim_ascii();
    let plain = |byte: &u8| byte.is_ascii_graphic() && !b"\",\\".contains(byte);
    if key.is_empty() || !key.iter().all(plain) {
        return None;
    }
    quoted(&[b"\"", key, b"\"", parameters].concat())
}

/// Keeps the text of a String Item.
struct Text<'k>(&'k mut Option<Vec<u8>>);

impl<'de> ItemVisitor<'de> for Text<'_> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        if let BareItemFromInput::String(text) = item {
            *self.0 = Some(text.as_str().as_bytes().to_vec());
        }
        Ok(Ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn key(lines: &[&str], lenient: bool) -> Result<Option<String>, &'static str> {
        let lines = lines.iter().map(|line| line.as_bytes());
        let key = read(lines, lenient, 255)?;
        Ok(key.map(|key| String::from_utf8_lossy(&key).into_owned()))
    }

    #[test]
    fn a1_a2_a5_quoted_bare_and_with_parameters_are_one_key() {
        for line in ["\"k-1\"", " \"k-1\" ", "\"k-1\";a=1", "\"k-1\"; a;b=\"x\""] {
            for lenient in [true, false] {
                assert_eq!(key(&[line], lenient), Ok(Some("k-1".to_owned())), "{line}");
            }
        }
        for line in ["k-1", " k-1 ", "k-1;a=1", "k-1 ;a"] {
            assert_eq!(key(&[line], true), Ok(Some("k-1".to_owned())), "{line}");
            key(&[line], false).unwrap_err();
        }
        assert_eq!(
            key(&["\"a\\\"b\\\\\""], false),
            Ok(Some("a\"b\\".to_owned()))
        );
        assert_eq!(key(&["8e/3=+:_"], true), Ok(Some("8e/3=+:_".to_owned())));
        assert_eq!(key(&[], true), Ok(None));
    }

    #[test]
    fn a3_a4_what_is_malformed_is_no_key() {
        for line in [
            "",
            " ",
            "\"",
            "\"a",
            "a\"",
            "\"a\\x\"",
            "\"a\tb\"",
            "\"a\u{7f}\"",
            "a\u{7f}",
            "\"\u{e9}\"",
            "\u{e9}",
            "\"\"",
            "\"a\" b",
            "a b",
            "a,b",
            "\"a\", \"b\"",
            "a\\b",
            "k;A=1",
            ";a=1",
        ] {
            assert!(key(&[line], true).is_err(), "`{line}`");
            assert!(key(&[line], false).is_err(), "`{line}`");
        }
        for line in ["1", "tok", ":YQ==:", "?1", "(a)"] {
            assert!(key(&[line], false).is_err(), "`{line}`");
        }
        key(&["k", "k"], true).unwrap_err();
    }

    #[test]
    fn a6_the_longest_key() {
        let (just, over) = ("k".repeat(255), "k".repeat(256));
        assert_eq!(key(&[&just], true), Ok(Some(just.clone())));
        key(&[&over], true).unwrap_err();
        key(&[&format!("\"{over}\"")], false).unwrap_err();
    }
}
