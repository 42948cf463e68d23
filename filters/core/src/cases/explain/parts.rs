//! The parts of keys, in words.

use serde::Serialize;

use crate::dimensions::Dimensions;
use crate::identity::{Identity, digest};
use crate::key::{Parts, Secret};
use crate::policy::{Dimension, Policy, Route, SourceKind};
use crate::request::Request;

/// One dimension of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyPart {
    /// What it tells apart.
    pub dimension: String,
    /// What stands there; `None` where it is absent.
    pub value: Option<String>,
    /// What stands in for it, where it is absent and something does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Box<KeyPart>>,
}

/// The dimensions of a request.
pub(super) struct Values<'a> {
    pub(super) policy: &'a Policy,
    pub(super) identity: &'a Identity<'a>,
    pub(super) request: &'a Request<'a>,
    pub(super) route: Option<&'a Route>,
}

impl Values<'_> {
    /// A part of a key, in which `otherwise` stands in for what is absent.
    pub(super) fn part(&self, dimension: &Dimension, otherwise: Option<&Dimension>) -> KeyPart {
        let value = self.value(dimension);
        let absent = value.is_none();
        KeyPart {
            dimension: dimension.to_string(),
            value,
            instead: otherwise
                .filter(|_| absent)
                .map(|otherwise| Box::new(self.part(otherwise, None))),
        }
    }

    fn value(&self, dimension: &Dimension) -> Option<String> {
        // The core alone knows what is absent.
        let secret = Secret::new([0; 16]);
        let mut dimensions = Dimensions::new(secret, self.identity, self.request, self.route);
        let known = core::slice::from_ref(dimension);
        if !dimensions.write_all(known, &mut Parts::new()) {
            return None;
        }
        let part =
            |part: &Option<crate::identity::Part<'_>>| part.as_ref().map(|part| text(&part.value));
        match dimension {
            Dimension::Tenant => part(&self.identity.tenant),
            Dimension::Account => part(&self.identity.account),
            Dimension::Plan => part(&self.identity.plan),
            Dimension::Address => self.identity.address().map(|address| address.to_string()),
            Dimension::Route => Some(self.route.map_or("none", |r| r.name.as_str()).to_owned()),
            Dimension::Method => Some(text(self.request.method)),
            Dimension::Host => Some(text(&self.request.host())),
            Dimension::Header(name) => {
                let secret = self.is_secret(name);
                let shown = |line: &[u8]| text(&if secret { digest(line) } else { line.to_vec() });
                let lines: Vec<String> = self.request.lines(name).map(shown).collect();
                Some(lines.join(", "))
            }
        }
    }
}

impl Values<'_> {
    /// Whether the policy holds what stands in a header for a secret.
    fn is_secret(&self, header: &str) -> bool {
        let mut sources = self.policy.identity.sources();
        sources.any(|source| source.secret && source.kind == SourceKind::Header(header.to_owned()))
    }
}

/// Bytes as they can be shown.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
