//! Why a request is refused. How a refusal is told is in [`crate::answer`].

use crate::identity::Ambiguity;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// At least one limit has no room; the waits are in the decision's standings.
    QuotaExceeded {
        /// How long until all limits that refuse have room, in nanoseconds: the largest of their waits.
        wait: u64,
    },
    /// The cost is above the burst of a limit; waiting does not help. Which limit is in the decision's standings.
    CostExceedsBurst {
        /// What the request costs.
        cost: u64,
    },
    /// The header that says what a request costs does not hold one number of at least 1.
    CostInvalid {
        /// The header.
        header: String,
    },
    /// An identity is present twice or malformed.
    IdentityAmbiguous(Ambiguity),
    /// The account is absent where the route asks for one, or nothing at all tells the caller from others.
    IdentityRequired,
    /// The request uses a name that is ours.
    ReservedName {
        /// The name.
        name: String,
    },
    /// The headers could not be read: the host handed out none, as it may where there are too many.
    HeadersUnreadable,
    /// A limit's state could not be read or swapped.
    StoreUnavailable,
    /// The route asks for an `Idempotency-Key`, and there is none.
    IdempotencyKeyMissing,
    /// The `Idempotency-Key` is malformed; what is wrong is to be read after its name.
    IdempotencyKeyInvalid(&'static str),
    /// The header that names an event is there twice.
    EventAmbiguous {
        /// The header.
        header: String,
    },
    /// A request with the same key runs.
    RequestInProgress,
    /// What became of the request with the same key is not known.
    OutcomeUnknown,
    /// The answer to the request with the same key was too large to keep, or is in a coding that this caller does not take.
    ResponseNotStored,
    /// The same key came with another request.
    IdempotencyKeyReused,
    /// The body is larger than may be read.
    BodyTooLarge,
    /// The request cannot be made once; why is to be read after `this request`.
    NotRecordable(&'static str),
    /// The response is not its caller's: its seal is another's or missing, or it names another owner.
    ResponseOwnerMismatch,
    /// A proxy on the way to the origin answered in its place, with this status: 400 to 599.
    NoAnswer(u16),
    /// Envoy sent the marked request another way than the one it had chosen before.
    RouteChanged,
}

/// The rules about requests that are no limits, as metrics and access logs name them; no limit may have such a name.
pub const RULES: [&str; 14] = [
    "body-too-large",
    "cost-exceeds-burst",
    "cost-invalid",
    "idempotency-key-invalid",
    "idempotency-key-missing",
    "idempotency-key-reused",
    "identity-ambiguous",
    "identity-required",
    "not-recordable",
    "outcome-unknown",
    "request-in-progress",
    "reserved-name",
    "response-not-stored",
    "store-unavailable",
];

/// The rules about responses; no limit may have such a name.
pub const RESPONSE_RULES: [&str; 3] = ["response-owner-mismatch", "no-answer", "route-changed"];

/// The rule of a request that nothing refuses; no limit may have this name.
pub const NO_RULE: &str = "none";

impl Denial {
    /// The name of the rule that refused, one of [`RULES`]; for [`Denial::QuotaExceeded`] it is the limit.
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::QuotaExceeded { .. } => "quota-exceeded",
            Self::CostExceedsBurst { .. } => "cost-exceeds-burst",
            Self::CostInvalid { .. } => "cost-invalid",
            Self::IdentityAmbiguous(_) | Self::HeadersUnreadable => "identity-ambiguous",
            Self::IdentityRequired => "identity-required",
            Self::ReservedName { .. } => "reserved-name",
            Self::StoreUnavailable => "store-unavailable",
            Self::IdempotencyKeyMissing => "idempotency-key-missing",
            Self::IdempotencyKeyInvalid(_) | Self::EventAmbiguous { .. } => {
                "idempotency-key-invalid"
            }
            Self::RequestInProgress => "request-in-progress",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::ResponseNotStored => "response-not-stored",
            Self::IdempotencyKeyReused => "idempotency-key-reused",
            Self::BodyTooLarge => "body-too-large",
            Self::NotRecordable(_) => "not-recordable",
            Self::ResponseOwnerMismatch => "response-owner-mismatch",
            Self::NoAnswer(_) => "no-answer",
            Self::RouteChanged => "route-changed",
        }
    }
}
