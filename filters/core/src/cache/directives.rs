//! Cache directives (RFC 9111, section 5.2), in whatever letter case they come, and their targeted form (RFC 9213).

use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// The directives of a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Directives(Vec<Directive>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Directive {
    /// In lower case.
    name: Vec<u8>,
    /// As it was written, quotes included.
    value: Option<Vec<u8>>,
}

impl Directives {
    /// Reads the lines of `Cache-Control`. What is no directive is left out.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut directives = Vec::new();
        for member in lines.flat_map(members) {
            let mut halves = member.splitn(2, |byte| *byte == b'=');
            let name = halves
                .next()
                .unwrap_or_default()
                .trim_ascii()
                .to_ascii_lowercase();
            let value = halves.next().map(|value| value.trim_ascii().to_vec());
            if !name.is_empty() {
                directives.push(Directive { name, value });
            }
        }
        Self(directives)
    }

    /// Reads the lines of `CDN-Cache-Control`, a Dictionary (RFC 9213, section 2.1); `None` if it is empty or none, and
    /// is to be ignored.
    pub(super) fn read_targeted<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let text = lines.collect::<Vec<_>>().join(&b","[..]);
        let dictionary = Parser::new(&text).parse::<Dictionary>().ok()?;
        let directives: Vec<_> = dictionary
            .iter()
            .filter_map(|(name, entry)| {
                let value = match entry {
                    ListEntry::Item(item) => match &item.bare_item {
                        BareItem::Boolean(false) => return None,
                        BareItem::Integer(number) => Some(number.to_string().into_bytes()),
                        BareItem::Token(token) => Some(token.as_str().as_bytes().to_vec()),
                        // What it is meant to say beyond its name is not known; the name says the stricter thing.
                        _ => None,
                    },
                    ListEntry::InnerList(_) => None,
                };
                let name = name.as_str().as_bytes().to_vec();
                Some(Directive { name, value })
            })
            .collect();
        (!directives.is_empty()).then_some(Self(directives))
    }

    /// Whether one of these directives is there, with or without a value.
    pub(super) fn any(&self, names: &[&str]) -> bool {
        let named = |directive: &Directive| names.iter().any(|n| n.as_bytes() == directive.name);
        self.0.iter().any(named)
    }

    /// Takes directives out.
    pub(super) fn remove(&mut self, names: &[&str]) {
        let named = |directive: &Directive| names.iter().any(|n| n.as_bytes() == directive.name);
        self.0.retain(|directive| !named(directive));
    }

    /// Puts a directive without a value in front.
    pub(super) fn insert(&mut self, name: &str) {
        let name = name.as_bytes().to_vec();
        self.0.insert(0, Directive { name, value: None });
    }

    /// As a value of `Cache-Control`, names in lower case.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for Directive { name, value } in &self.0 {
            if !text.is_empty() {
                text.extend_from_slice(b", ");
            }
            text.extend_from_slice(name);
            if let Some(value) = value {
                text.push(b'=');
                text.extend_from_slice(value);
            }
        }
        text
    }
}

/// The members of a list (RFC 9110, section 5.6.1). A comma between quotes divides nothing.
pub(super) fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    line.split(move |byte| {
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return true,
            _ => {}
        }
        false
    })
    .map(<[u8]>::trim_ascii)
    .filter(|member| !member.is_empty())
}

#[cfg(test)]
mod tests {
    use super::Directives;

    fn written(lines: &[&str]) -> String {
        let read = Directives::read(lines.iter().map(|line| line.as_bytes()));
        String::from_utf8(read.to_bytes()).unwrap_or_default()
    }

    fn targeted(lines: &[&str]) -> Option<String> {
        let read = Directives::read_targeted(lines.iter().map(|line| line.as_bytes()))?;
        String::from_utf8(read.to_bytes()).ok()
    }

    #[test]
    fn c4_names_in_any_letter_case_over_several_lines() {
        assert_eq!(
            written(&["Max-Age=60 , PRIVATE=\"Set-Cookie, x\"", ",, no-Store"]),
            "max-age=60, private=\"Set-Cookie, x\", no-store"
        );
        assert_eq!(written(&["a=\"\\\", private\""]), "a=\"\\\", private\"");
        assert_eq!(written(&["", "="]), "");
    }

    #[test]
    fn c19_a_targeted_field_is_a_dictionary() {
        assert_eq!(
            targeted(&["max-age=60", "no-store=?0, private;x=1"]).as_deref(),
            Some("max-age=60, private")
        );
        for ignored in ["", "max-age=60,", "Max-Age=60", "no-store=?0", "max age"] {
            assert_eq!(targeted(&[ignored]), None, "`{ignored}`");
        }
    }
}
