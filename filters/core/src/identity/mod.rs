//! Who is calling: decided once per request, here, and used for everything after.
//!
//! # Invariants
//! - *Kinds never meet*: a part of the identity is its kind, the name of its source, the issuer and the
//!   value; the same text from a token and from a header are two callers.
//! - *Strangers share nothing*: absent, empty and white-space are the same, and they are no identity.
//! - *Never a guess*: an identity that is present twice, too long, or has control characters is refused.

mod address;
mod percent;
mod signed;
mod source;

pub use address::Address;
pub(crate) use percent::decode as decode_percent;
pub use signed::sign_address;
pub use source::MAX_VALUE_LEN;
pub(crate) use source::digest;
pub(crate) use source::name as source_name;
pub(crate) use source::part;

use core::cell::OnceCell;
use std::borrow::Cow;

use crate::key::Parts;
use crate::policy::IdentityRules;
use crate::request::Request;

/// One part of an identity: a tenant, an account or a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// What kind of source it came from.
    pub kind: Kind,
    /// The name of the source: the claim, header, parameter, cookie, or type of alternative name.
    pub source: &'a str,
    /// Who issued the token; empty where there is none.
    pub issuer: Vec<u8>,
    /// The value; of a secret, its digest as `sha256:` and 64 hex digits.
    pub value: Cow<'a, [u8]>,
}

/// The kinds of source that a [`Part`] may come from; the number is its tag in keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A claim of a verified token.
    Jwt = 1,
    /// A header.
    Header = 2,
    /// A parameter of the query.
    Query = 3,
    /// A cookie.
    Cookie = 4,
    /// A name of a validated client certificate.
    San = 5,
}

impl Part<'_> {
    /// Adds what tells this part from every other.
    pub fn push_to(&self, parts: &mut Parts) {
        parts.push(self.kind as u8, self.source.as_bytes());
        parts.push(self.kind as u8, &self.issuer);
        parts.push(self.kind as u8, &self.value);
    }

    /// The value, where it is text.
    pub fn text(&self) -> Option<&str> {
        core::str::from_utf8(&self.value).ok()
    }
}

/// Who is calling.
pub struct Identity<'a> {
    /// Who the caller works for.
    pub tenant: Option<Part<'a>>,
    /// Who the caller is.
    pub account: Option<Part<'a>>,
    /// What the caller pays for.
    pub plan: Option<Part<'a>>,
    /// What a front signed.
    signed: Option<Address>,
    /// What the proxy knows of the connection, once it was asked.
    peer: OnceCell<Option<Address>>,
    rules: &'a IdentityRules,
    request: &'a Request<'a>,
}

/// Why an identity is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguity {
    /// The source, as the policy names it, such as `header x-tenant-id`.
    pub source: String,
    /// What is wrong with it, to be read after the source, such as `is present twice; send it once`.
    pub fault: &'static str,
}

impl<'a> Identity<'a> {
    /// Decides who sent `request`.
    ///
    /// # Errors
    /// An [`Ambiguity`] where a source that is tried is present twice or malformed, or a signed address is
    /// present twice, malformed, too old or wrongly signed.
    pub fn of(rules: &'a IdentityRules, request: &'a Request<'a>) -> Result<Self, Ambiguity> {
        let first = |sources| source::first_present(sources, request);
        let signed = match &rules.address.signed {
            Some(rule) => signed::read(rule, request)?,
            None => None,
        };
        Ok(Self {
            tenant: first(&rules.tenant)?,
            account: first(&rules.account)?,
            plan: first(&rules.plan)?,
            signed: signed.map(|ip| Address::new(ip, rules.address.ipv6_prefix)),
            peer: OnceCell::new(),
            rules,
            request,
        })
    }

    /// Whoever an operator says it is; the address is the one that the facts of `request` have.
    pub(crate) fn told(
        [tenant, account, plan]: [Option<Part<'a>>; 3],
        rules: &'a IdentityRules,
        request: &'a Request<'a>,
    ) -> Self {
        Self {
            tenant,
            account,
            plan,
            signed: None,
            peer: OnceCell::new(),
            rules,
            request,
        }
    }

    /// Whether an account could be known.
    pub(crate) const fn knows_accounts(&self) -> bool {
        !self.rules.account.is_empty()
    }

    /// Where the caller comes from. The proxy is asked once, and only if no front signed an address.
    pub fn address(&self) -> Option<Address> {
        let prefix = self.rules.address.ipv6_prefix;
        let peer = || Address::of_peer(&self.request.facts.source_address(), prefix);
        self.signed.or_else(|| *self.peer.get_or_init(peer))
    }
}
