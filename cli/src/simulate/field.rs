//! Which field of a log stands for what: names of keys, or JSON pointers.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};

/// What a field of a log says about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// When it came.
    Time,
    /// Its method.
    Method,
    /// Its path, with or without the query.
    Path,
    /// Its authority.
    Host,
    /// The trusted client address.
    Address,
    /// Who the caller works for: the value itself, wherever the policy finds it.
    Tenant,
    /// Who the caller is: likewise.
    Account,
    /// What the caller pays for: likewise.
    Plan,
    /// What it costs, in whatever header the route reads it.
    Cost,
    /// The status that it was answered with.
    Status,
    /// A header; the name is in lower case.
    Header(String),
    /// A claim of the verified token.
    Claim(String),
}

/// Where a value stands in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// Under this name.
    Name(String),
    /// Where these names lead, from the outside in.
    Pointer(Vec<String>),
}

/// One `NAME=KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// What it says.
    pub(crate) target: Target,
    /// Where it stands.
    pub(crate) key: Key,
}

/// All fields of a log; the place of one in the list is its number in a [`Record`](super::record::Record).
#[derive(Debug, Clone)]
pub(crate) struct Fields(Vec<Field>);

/// The names in Envoy's access log as `envoy/gate.yaml` has it, and those that its comments propose.
const DEFAULT: [(Target, &str); 10] = [
    (Target::Time, "time"),
    (Target::Method, "method"),
    (Target::Path, "path"),
    (Target::Host, "host"),
    (Target::Address, "client"),
    (Target::Tenant, "tenant"),
    (Target::Account, "account"),
    (Target::Plan, "plan"),
    (Target::Cost, "cost"),
    (Target::Status, "status"),
];

impl Fields {
    /// The default with `named` in place of what has the same target, and beside the rest.
    ///
    /// # Errors
    /// One target named twice.
    pub(crate) fn new(named: &[Field]) -> Result<Self> {
        let mut fields: Vec<_> = DEFAULT
            .into_iter()
            .map(|(target, name)| Field {
                target,
                key: Key::Name(name.to_owned()),
            })
            .collect();
        for (index, field) in named.iter().enumerate() {
            let before = named.get(..index).unwrap_or_default();
            if before.iter().any(|other| other.target == field.target) {
                bail!("`{}` is given twice; give it once", field.target);
            }
            match fields.iter_mut().find(|old| old.target == field.target) {
                Some(old) => old.key = field.key.clone(),
                None => fields.push(field.clone()),
            }
        }
        Ok(Self(fields))
    }

    /// The number of a field.
    pub(crate) fn find(&self, target: &Target) -> Option<usize> {
        self.0.iter().position(|field| field.target == *target)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, key) = text
            .split_once('=')
            .filter(|(_, key)| !key.is_empty())
            .ok_or_else(|| format!("`{text}` is not a field; write `NAME=KEY`"))?;
        Ok(Self {
            target: name.parse()?,
            key: key.parse()?,
        })
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some((target, _)) = DEFAULT.iter().find(|(t, _)| t.to_string() == name) {
            return Ok(target.clone());
        }
        match name.split_once(':') {
            Some(("header", header)) if !header.is_empty() => {
                Ok(Self::Header(header.to_ascii_lowercase()))
            }
            Some(("claim", claim)) if !claim.is_empty() => Ok(Self::Claim(claim.to_owned())),
            _ => Err(format!(
                "`{name}` is not a name of a field; write one of `time`, `method`, `path`, `host`, `address`, \
                 `tenant`, `account`, `plan`, `cost`, `status`, `header:NAME` or `claim:NAME`"
            )),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(pointer) = text.strip_prefix('/') else {
            return Ok(Self::Name(text.to_owned()));
        };
        // RFC 6901, section 4.
        let step = |step: &str| step.replace("~1", "/").replace("~0", "~");
        Ok(Self::Pointer(pointer.split('/').map(step).collect()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time"),
            Self::Method => f.write_str("method"),
            Self::Path => f.write_str("path"),
            Self::Host => f.write_str("host"),
            Self::Address => f.write_str("address"),
            Self::Tenant => f.write_str("tenant"),
            Self::Account => f.write_str("account"),
            Self::Plan => f.write_str("plan"),
            Self::Cost => f.write_str("cost"),
            Self::Status => f.write_str("status"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Claim(name) => write!(f, "claim:{name}"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Pointer(steps) => steps
                .iter()
                .try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1"))),
        }
    }
}
