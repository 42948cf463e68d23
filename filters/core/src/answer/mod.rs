//! Answers: the one place that knows how a refusal is told.

mod fields;
mod join;
mod json;
mod problem;

pub(crate) use fields::policy_member;
pub use fields::{RateLimitFields, fields};
pub use join::join;

use std::borrow::Cow;

use crate::denial::Denial;
use crate::engine::Decision;
use crate::policy::{Policy, RateLimitHeaders, SourceKind};
use crate::quota::NANOS_PER_SEC;

/// A response that the edge sends instead of the origin's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The header fields.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body: a problem document (RFC 9457).
    pub body: Vec<u8>,
    /// The status for a gRPC caller.
    pub grpc_status: GrpcStatus,
    /// The message for a gRPC caller.
    pub grpc_message: String,
}

/// The gRPC statuses that refusals have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum GrpcStatus {
    /// INVALID_ARGUMENT.
    InvalidArgument = 3,
    /// RESOURCE_EXHAUSTED.
    ResourceExhausted = 8,
    /// ABORTED.
    Aborted = 10,
    /// OUT_OF_RANGE.
    OutOfRange = 11,
    /// INTERNAL.
    Internal = 13,
    /// UNAVAILABLE.
    Unavailable = 14,
    /// UNAUTHENTICATED.
    Unauthenticated = 16,
}

/// What is sent for `denial`, which is part of `decision`.
///
/// `instance` is the id of the request; it stands in the problem document if it is visible ASCII of at most
/// 128 bytes.
pub fn answer(
    policy: &Policy,
    decision: &Decision<'_>,
    denial: &Denial,
    instance: Option<&[u8]>,
) -> Answer {
    let (status, grpc_status) = match denial {
        Denial::QuotaExceeded { .. } => (429, GrpcStatus::ResourceExhausted),
        Denial::CostExceedsBurst { .. }
        | Denial::IdempotencyKeyMissing
        | Denial::IdempotencyKeyInvalid(_)
        | Denial::EventAmbiguous { .. }
        | Denial::NotRecordable(_)
        | Denial::CostInvalid { .. }
        | Denial::IdentityAmbiguous(_)
        | Denial::ReservedName { .. }
        | Denial::HeadersUnreadable => (400, GrpcStatus::InvalidArgument),
        Denial::IdentityRequired => (401, GrpcStatus::Unauthenticated),
        Denial::RequestInProgress | Denial::OutcomeUnknown | Denial::ResponseNotStored => {
            (409, GrpcStatus::Aborted)
        }
        Denial::IdempotencyKeyReused => (422, GrpcStatus::InvalidArgument),
        Denial::BodyTooLarge => (413, GrpcStatus::OutOfRange),
        Denial::StoreUnavailable => (503, GrpcStatus::Unavailable),
        Denial::ResponseOwnerMismatch => (502, GrpcStatus::Internal),
        Denial::NoAnswer(status @ 500..) => (*status, GrpcStatus::Unavailable),
        Denial::NoAnswer(status) => (*status, GrpcStatus::InvalidArgument),
        Denial::RouteChanged => (500, GrpcStatus::Internal),
    };
    let problem = problem::problem(policy, decision, denial, status, instance);
    let mut headers = Vec::with_capacity(8);
    headers.push(("content-type", "application/problem+json".into()));
    headers.push(("cache-control", "no-store".into()));
    if let Some(seconds) = retry_after(denial) {
        headers.push(("retry-after", seconds.to_string().into()));
    }
    if *denial == Denial::IdentityRequired {
        headers.push(("www-authenticate", challenge(policy).into()));
    }
    if policy.headers != RateLimitHeaders::Off {
        let fields = fields(policy, decision).lines();
        headers.extend(fields.map(|(name, value)| (name, value.into())));
    }
    Answer {
        status,
        grpc_status,
        headers,
        body: problem.to_json(),
        grpc_message: problem.into_detail(),
    }
}

/// After how many seconds to come back (RFC 9110, section 10.2.3): the wait rounded up, at least 1, so that
/// a client that waits exactly that long is admitted. `None` where waiting does not help.
pub fn retry_after(denial: &Denial) -> Option<u64> {
    match denial {
        Denial::QuotaExceeded { wait } => Some(wait.div_ceil(NANOS_PER_SEC).max(1)),
        Denial::StoreUnavailable | Denial::RequestInProgress => Some(1),
        _ => None,
    }
}

/// How a caller could say who it is (RFC 9110, section 11.6.1).
fn challenge(policy: &Policy) -> String {
    let jwt = |source: &crate::policy::Source| matches!(source.kind, SourceKind::Jwt { .. });
    let scheme = if policy.identity.account.iter().any(jwt) {
        "Bearer"
    } else {
        "ApiKey"
    };
    format!("{scheme} realm=\"{}\"", policy.name)
}
