//! Cache directives (RFC 9111, section 5.2), in whatever letter case they come, and their targeted form (RFC 9213).

use core::convert::Infallible;

use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};

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
            let name = halves.next().unwrap_or_default().trim_ascii();
            // What is behind a name and is no value is a slip of the pen: the name says the stricter thing.
            let name = name.split(|byte| !is_token(*byte)).next();
            let name = name.unwrap_or_default().to_ascii_lowercase();
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
        let mut directives = Self::default();
        Parser::new(&text)
            .parse_dictionary_with_visitor(&mut directives)
            .ok()?;
        (!directives.0.is_empty()).then_some(directives)
    }

    /// Whether one of these directives is there, with or without a value.
    pub(super) fn any(&self, names: &[&str]) -> bool {
        let named = |directive: &Directive| names.iter().any(|n| n.as_bytes() == directive.name);
        self.0.iter().any(named)
    }

    /// Whether there is none.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
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

impl<'de> DictionaryVisitor<'de> for &mut Directives {
    type Out = ();
    type Error = Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Infallible> {
        // Of a name that is there twice, the last one counts.
        self.remove(&[key.as_str()]);
        Ok(Member {
            name: key.as_str(),
            directives: self,
        })
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Directives that say for how long: Integers.
const TIMES: [&str; 4] = [
    "max-age",
    "s-maxage",
    "stale-if-error",
    "stale-while-revalidate",
];

/// Directives that let a cache do more than it would without: Booleans.
const LEAVES: [&str; 3] = ["must-revalidate", "must-understand", "public"];

/// A member of the dictionary, about to be read.
struct Member<'d, 'de> {
    name: &'de str,
    directives: &'d mut Directives,
}

impl Member<'_, '_> {
    fn add(self, value: Option<Vec<u8>>) {
        let name = self.name.as_bytes().to_vec();
        self.directives.0.push(Directive { name, value });
    }
}

impl<'de> ItemVisitor<'de> for Member<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        // Of another type than it has, a directive that lets a cache do more counts for nothing, and one that lets it do
        // less counts by its name.
        let (time, leave) = (TIMES.contains(&self.name), LEAVES.contains(&self.name));
        match item {
            BareItemFromInput::Boolean(false) => {}
            BareItemFromInput::Boolean(true) if !time => self.add(None),
            BareItemFromInput::Integer(number) if !leave => {
                self.add(Some(number.to_string().into_bytes()));
            }
            _ if time || leave => {}
            _ => self.add(None),
        }
        Ok(Ignored)
    }
}

impl<'de> EntryVisitor<'de> for Member<'_, 'de> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        if !TIMES.contains(&self.name) && !LEAVES.contains(&self.name) {
            self.add(None);
        }
        Ok(Ignored)
    }
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'_'
                | b'.'
                | b'!'
                | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'^'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// The members of a list (RFC 9110, section 5.6.1). A comma between quotes divides nothing, unless the quotes do not end.
pub(super) fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    let ends = quotes.is_multiple_of(2) || line.contains(&b'\\');
    let (mut quoted, mut escaped) = (false, false);
    line.split(move |byte| {
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'\\' if quoted => escaped = true,
            b'"' if ends => quoted = !quoted,
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
