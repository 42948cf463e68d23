//! Who is calling, and from which source that is known.

use serde::Serialize;

use super::parts::text;
use crate::identity::{Identity, source_name};
use crate::policy::{IdentityRules, Policy, Source};
use crate::request::Request;

/// Who is calling.
#[derive(Debug, Clone, Serialize)]
pub struct Who {
    /// Who the caller works for.
    pub tenant: Part,
    /// Who the caller is.
    pub account: Part,
    /// What the caller pays for.
    pub plan: Part,
    /// Where the caller comes from.
    pub address: Option<Address>,
    /// Why the identity is refused, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A part of the identity.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Part {
    /// The value; of a secret its digest; `None` where no source has any.
    pub value: Option<String>,
    /// The source that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Who issued the token that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The sources before it, which have nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
}

/// Where the caller comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Address {
    /// The address or network.
    pub value: String,
    /// The header in which it was signed; `None` where it is the connection's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

pub(super) fn who(policy: &Policy, request: &Request<'_>) -> Who {
    let rules = &policy.identity;
    let identity = Identity::of(rules, request);
    let signed = rules.address.signed.as_ref();
    let signed = signed.filter(|rule| request.lines(&rule.header).next().is_some());
    Who {
        tenant: part(&rules.tenant, request),
        account: part(&rules.account, request),
        plan: part(&rules.plan, request),
        address: identity
            .as_ref()
            .ok()
            .and_then(Identity::address)
            .map(|address| Address {
                value: address.to_string(),
                header: signed.map(|rule| rule.header.clone()),
            }),
        fault: identity
            .err()
            .map(|fault| format!("`{}` {}", fault.source, fault.fault)),
    }
}

/// What the sources of one part say, tried one by one as the core tries them.
fn part(sources: &[Source], request: &Request<'_>) -> Part {
    let mut absent = Vec::new();
    for source in sources {
        let name = source_name(&source.kind);
        let alone = IdentityRules {
            account: vec![source.clone()],
            ..IdentityRules::default()
        };
        match Identity::of(&alone, request) {
            Ok(Identity {
                account: Some(found),
                ..
            }) => {
                return Part {
                    value: Some(text(&found.value)),
                    source: Some(name),
                    issuer: Some(text(&found.issuer)).filter(|issuer| !issuer.is_empty()),
                    absent,
                };
            }
            Ok(_) => absent.push(name),
            // It is refused, and no source after it is looked at.
            Err(_) => break,
        }
    }
    Part {
        absent,
        ..Part::default()
    }
}
