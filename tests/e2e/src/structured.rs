//! `RateLimit` and `RateLimit-Policy`, read back as the structured fields they claim to be.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use http::HeaderMap;
use sfv::{BareItem, List, ListEntry, Parser};

/// One member of a list: its name and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The string that the member is.
    pub name: String,
    /// Its parameters, such as `q`, `w`, `r`, `t`, `pk`.
    pub parameters: BTreeMap<String, BareItem>,
}

impl Member {
    /// A parameter that is an integer.
    #[must_use]
    pub fn integer(&self, key: &str) -> Option<i64> {
        Some(self.parameters.get(key)?.as_integer()?.into())
    }
}

/// All members of the field `name`, over all of its lines.
///
/// # Errors
///
/// The field is absent, is no list, or holds something other than strings.
pub fn list(headers: &HeaderMap, name: &str) -> Result<Vec<Member>> {
    let lines: Vec<&[u8]> = headers
        .get_all(name)
        .iter()
        .map(http::HeaderValue::as_bytes)
        .collect();
    if lines.is_empty() {
        bail!("no `{name}`");
    }
    let field = lines.join(&b", "[..]);
    let list: List = Parser::new(&field)
        .parse()
        .with_context(|| format!("`{name}: {}`", String::from_utf8_lossy(&field)))?;
    list.into_iter()
        .map(|entry| {
            let ListEntry::Item(item) = entry else {
                bail!("`{name}` holds an inner list");
            };
            let BareItem::String(text) = item.bare_item else {
                bail!("`{name}` holds {:?}, which is no string", item.bare_item);
            };
            Ok(Member {
                name: text.as_str().to_owned(),
                parameters: item
                    .params
                    .into_iter()
                    .map(|(key, value)| (key.as_str().to_owned(), value))
                    .collect(),
            })
        })
        .collect()
}

/// What `RateLimit` says is left, for each limit in the order of the field; nothing where the field is absent.
///
/// # Errors
///
/// The field is malformed, or a member of it has no `r` of at least 0.
pub fn remaining(headers: &HeaderMap) -> Result<Vec<(String, u64)>> {
    if !headers.contains_key("ratelimit") {
        return Ok(Vec::new());
    }
    list(headers, "ratelimit")?
        .into_iter()
        .map(|member| {
            let left = member.integer("r").and_then(|left| left.try_into().ok());
            let left = left.with_context(|| format!("{member:?}"))?;
            Ok((member.name, left))
        })
        .collect()
}
