//! What a policy *is*: the validated values that the decision works on. How a document becomes one of
//! these is in `compile`; how its JSON looks is in `document`; where both meet is [`Policy::parse`].

mod admin;
mod cache;
mod compile;
mod document;
mod faults;
mod idempotency;
mod json;
mod mistake;
mod nearest;
mod not_enforced;
mod notify;
mod packed;
mod parse;
mod pointer;
mod read;
#[cfg(feature = "schema")]
mod schema;
mod structure;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use self::admin::{Admin, Network};
pub use self::cache::{Cache, CacheBy, OwnerRule, Scope};
#[cfg(feature = "cases")]
pub use self::compile::grouped;
pub use self::idempotency::{By, EventSource, Execution, Fingerprint, Idempotency, UnknownRule};
pub use self::mistake::Mistake;
pub use self::notify::Notify;
pub use self::packed::{BESIDE_PACKED, Packed};
pub use self::parse::Checked;
#[cfg(feature = "cases")]
pub use self::pointer::{Pointer, Step};
pub use self::read::MAX_DOCUMENT_BYTES;
#[cfg(feature = "schema")]
pub use self::schema::schema;
pub use self::structure::json_of_struct;
use crate::quota::Quota;
use crate::records::Room;

/// A policy that may be enforced: everything in it has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The stable name; the tables of its limits are kept under it. `[a-z0-9-]`, 1 to 64 bytes.
    pub name: String,
    /// The version, for people and metrics only. `[A-Za-z0-9._-]`, 1 to 64 bytes.
    pub version: String,
    /// Whether decisions change anything for the caller.
    pub mode: Mode,
    /// For which share of callers it is enforced; none: for all. Not in a policy in shadow.
    pub canary: Option<Canary>,
    /// How callers are told apart.
    pub identity: IdentityRules,
    /// Every limit, in the order of their names; a [`LimitId`] is an index into this list.
    pub limits: Vec<Limit>,
    /// The limits that are checked on every request, in the order written.
    pub always: Vec<LimitId>,
    /// The routes, in the order written; the first that matches decides.
    pub routes: Vec<Route>,
    /// What stands in front of the problem's name instead of `urn:tidegate:problem:`.
    pub problem_base: Option<String>,
    /// When `RateLimit` and `RateLimit-Policy` are sent.
    pub headers: RateLimitHeaders,
    /// Whether `X-RateLimit-*` is sent too.
    pub legacy_headers: bool,
    /// What happens to a request whose limits could not be read or swapped.
    pub store_error: StoreErrorRule,
    /// What happens to a request that needs a record when there is no room for one.
    pub store_full: StoreErrorRule,
    /// How much room records and their answers have.
    pub room: Room,
    /// Who outside is told that a scope is refused for long.
    pub notify: Option<Notify>,
    /// Where the role `admin` answers.
    pub admin: Admin,
}

/// Whether a decision changes anything for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Refusals are sent.
    #[default]
    Enforce,
    /// Everything is decided, counted and logged; nothing changes for the caller.
    Shadow,
}

/// The share of callers for whom a policy is enforced; for all others it is in shadow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// How many callers of a hundred: 0 to 100.
    pub percent: u8,
    /// What tells callers apart: at least one dimension. The address stands in for one that is absent.
    pub by: Vec<Dimension>,
}

/// When `RateLimit` and `RateLimit-Policy` are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateLimitHeaders {
    /// On allowed and refused responses.
    #[default]
    Always,
    /// On refusals only.
    Denied,
    /// Never. `Retry-After` is still sent.
    Off,
}

/// What happens to a request whose limits could not be read or swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreErrorRule {
    /// It is answered with a 503 `temporary-reduced-capacity`.
    #[default]
    Reject,
    /// It goes ahead, uncounted by the limit that failed.
    Pass,
}

/// How callers are told apart: each list is tried in order, the first source present wins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdentityRules {
    /// The sources of the tenant.
    pub tenant: Vec<Source>,
    /// The sources of the account.
    pub account: Vec<Source>,
    /// The sources of the plan.
    pub plan: Vec<Source>,
    /// How the client address is read.
    pub address: AddressRule,
}

impl IdentityRules {
    /// The parts that have sources of their own.
    pub fn parts(&self) -> [(Dimension, &[Source]); 3] {
        [
            (Dimension::Tenant, &self.tenant),
            (Dimension::Account, &self.account),
            (Dimension::Plan, &self.plan),
        ]
    }

    /// Every source of every part.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.parts().into_iter().flat_map(|(_, sources)| sources)
    }
}

/// One place where a part of the identity may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The place.
    pub kind: SourceKind,
    /// The value is a secret: only its digest is ever stored, logged or shown.
    pub secret: bool,
}

/// The kinds of [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// A claim of a token that Envoy's `jwt_authn` verified.
    Jwt {
        /// The name of the claim; dots reach into nested objects, unless one claim has all of it as its name.
        claim: String,
        /// The key under which `jwt_authn` put the payload (its `payload_in_metadata`).
        payload: String,
    },
    /// A request header of exactly one line; the name is in lower case.
    Header(String),
    /// A parameter of the query.
    Query(String),
    /// A cookie.
    Cookie(String),
    /// A subject alternative name of the validated client certificate.
    San(SanType),
}

/// The kinds of subject alternative name that Envoy shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanType {
    /// `uniformResourceIdentifier`; Envoy shows the first one only.
    Uri,
    /// `dNSName`; Envoy shows the first one only.
    Dns,
}

/// How the client address is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRule {
    /// How many leading bits of an IPv6 address tell callers apart: 1 to 128.
    pub ipv6_prefix: u8,
    /// The header in which a front that hides the client address passes it, signed.
    pub signed: Option<SignedAddressRule>,
}

impl Default for AddressRule {
    fn default() -> Self {
        Self {
            ipv6_prefix: 64,
            signed: None,
        }
    }
}

/// A header in which a front passes the client address, signed with HMAC-SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAddressRule {
    /// The header's name, in lower case.
    pub header: String,
    /// The environment variable of the VM that holds the key.
    pub key_env: String,
    /// How old a signature may be, in nanoseconds.
    pub max_age: u64,
}

/// One thing that requests can be told apart by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Who the caller works for.
    Tenant,
    /// Who the caller is.
    Account,
    /// What the caller pays for.
    Plan,
    /// Where the caller comes from.
    Address,
    /// The name of the route that matched.
    Route,
    /// The method; what is not registered counts as one.
    Method,
    /// The host that the authority names, in lower case.
    Host,
    /// A request header; the name is in lower case.
    Header(String),
}

/// The index of a limit in [`Policy::limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitId(pub usize);

/// A named limit: one bucket for each combination of its dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// `[a-z0-9-]`, 1 to 64 bytes.
    pub name: String,
    /// What tells its buckets apart: at least one dimension, none twice.
    pub per: Vec<Dimension>,
    /// What stands in for a dimension that is absent.
    pub otherwise: Dimension,
    /// What a bucket is worth where neither plan nor override says otherwise.
    pub quota: Quota,
    /// What `RateLimit-Policy` says of that.
    pub told: String,
    /// What a bucket of a caller on this plan is worth.
    pub plans: BTreeMap<String, Quota>,
    /// What a bucket of this tenant is worth.
    pub tenant_overrides: BTreeMap<String, Quota>,
    /// What a bucket of this account is worth; it goes before a tenant's.
    pub account_overrides: BTreeMap<String, Quota>,
    /// It counts and never denies.
    pub shadow: bool,
    /// How many buckets its table holds: 16 to 1,048,576.
    pub max_keys: u32,
    /// The largest capacity of all these quotas, in nanoseconds: no bucket owes more.
    pub ceiling: u64,
}

/// A route: which requests it takes, and what holds for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// `[a-z0-9-]`, 1 to 64 bytes.
    pub name: String,
    /// Which requests it takes.
    pub matcher: RouteMatch,
    /// Its own limits, checked after the policy's `always`.
    pub limits: Vec<LimitId>,
    /// What a request costs.
    pub cost: Cost,
    /// What happens when the account is absent.
    pub anonymous: Anonymous,
    /// The mode of this route, where it differs from the policy's.
    pub mode: Option<Mode>,
    /// Who shares a cached copy of its responses; none: nothing of it is stored.
    pub cache: Option<Cache>,
    /// How a request that is sent again is recognised.
    pub idempotency: Option<Idempotency>,
}

impl Policy {
    /// Whether the policy keeps records of what was done.
    pub fn records(&self) -> bool {
        self.routes.iter().any(|route| route.idempotency.is_some())
    }

    /// Whether the policy speaks of cached copies. Where it does, routes that it says nothing about are not stored.
    pub fn caches(&self) -> bool {
        self.routes.iter().any(|route| route.cache.is_some())
    }

    /// The limit of this name.
    pub fn limit_named(&self, name: &str) -> Option<(LimitId, &Limit)> {
        let mut limits = self.limits.iter().enumerate();
        let (index, limit) = limits.find(|(_, limit)| limit.name == name)?;
        Some((LimitId(index), limit))
    }

    /// Has it change nothing for anybody.
    pub fn put_in_shadow(&mut self) {
        self.mode = Mode::Shadow;
        self.canary = None;
    }

    /// For how many callers of a hundred it is enforced.
    pub fn enforced_percent(&self) -> u8 {
        match (&self.canary, self.mode) {
            (Some(canary), _) => canary.percent,
            (None, Mode::Enforce) => 100,
            (None, Mode::Shadow) => 0,
        }
    }

    /// How calls of a rule are made: as it says, but by a canary always inline. It stands before the gate in force, and a
    /// call of its own would go past that one, which has to know what ran.
    pub fn execution(&self, rule: &Idempotency) -> Execution {
        match self.canary {
            Some(_) => Execution::Inline,
            None => rule.execution,
        }
    }

    /// Whether caches are told whose copies they keep. Not in shadow, nor by a canary: callers in its share and those
    /// outside have one cache, and a copy of the ones would be a copy of the others.
    pub fn tells_caches(&self) -> bool {
        self.mode == Mode::Enforce && self.canary.is_none() && self.caches()
    }
}

/// Which requests a route takes: all that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteMatch {
    /// One of these methods; empty: every method.
    pub methods: Vec<String>,
    /// A path; none: every path.
    pub path: Option<PathPattern>,
    /// The authority, in lower case, without the port.
    pub host: Option<String>,
    /// Headers that stand there with exactly this value; names in lower case.
    pub headers: Vec<(String, String)>,
}

/// A path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPattern {
    /// This path.
    Exact(String),
    /// Every path that begins with this; it ends with `/`.
    Prefix(String),
    /// As many segments as written, some of them any text.
    Template(Vec<Segment>),
}

/// One segment of a [`PathPattern::Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// This text.
    Literal(String),
    /// Any text of at least one byte, written `{name}`.
    Any,
}

/// What a request costs, in units of its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cost {
    /// The same for every request: 1 to [`crate::quota::MAX_INTEGER`].
    Fixed(u64),
    /// What this header says.
    Header {
        /// The name, in lower case.
        name: String,
        /// The cost where the header is absent.
        default: u64,
    },
}

impl Default for Cost {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

/// What happens when the account is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anonymous {
    /// The request is answered with a 401.
    Deny,
    /// In each limit its `otherwise` stands in for the account.
    #[default]
    Address,
    /// Limits that name the account are left out; the others hold.
    Allow,
}

impl Dimension {
    /// The dimension as a policy writes it.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Tenant => "tenant",
            Self::Account => "account",
            Self::Plan => "plan",
            Self::Address => "address",
            Self::Route => "route",
            Self::Method => "method",
            Self::Host => "host",
            Self::Header(name) => return Cow::Owned(["header:", name].concat()),
        })
    }
}

impl core::fmt::Display for Dimension {
    /// The dimension as a policy writes it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.name())
    }
}
