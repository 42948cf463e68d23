//! What became of a call.

use crate::policy::{By, Idempotency};
use crate::records::Settled;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The origin answered with this status.
    Answered(u16),
    /// It never reached the origin.
    NotSent,
    /// It was sent, and no answer came.
    Lost,
}

impl Outcome {
    /// What became of a call, by the status, Envoy's `response.code_details` and whether a host of the origin was chosen
    /// (`upstream.address`).
    ///
    /// In doubt it was sent: then a second attempt is not made unasked.
    pub fn of(status: u16, details: &[u8], chosen: bool) -> Self {
        // The last is what a gate behind says of the origin's answer to a call that it made itself.
        if details == b"via_upstream"
            || details.starts_with(b"cache.")
            || details == b"tidegate_detached"
        {
            return Self::Answered(status);
        }
        // No connection, no request: `upstream_reset_before_response_started{REASON|what the transport said}`.
        let reset = details.strip_prefix(b"upstream_reset_before_response_started{");
        let reason = reset.and_then(|rest| rest.split(|byte| matches!(byte, b'|' | b'}')).next());
        let unconnected = matches!(
            reason,
            Some(
                b"local_connection_failure"
                    | b"remote_connection_failure"
                    | b"connection_failure"
                    | b"connection_timeout"
                    | b"overflow"
            )
        );
        if chosen && !unconnected {
            Self::Lost
        } else {
            Self::NotSent
        }
    }

    /// What became of a call by the answer that came, of which `headers` are those that count: an Envoy on the way tells of its own
    /// failures in the place of one, in words of its own.
    ///
    /// Whose words they are is not to be read where something on the way compressed them: then the call may have been sent.
    pub fn of_call<'h>(
        status: u16,
        headers: impl IntoIterator<Item = (&'h [u8], &'h [u8])>,
        body: &[u8],
    ) -> Self {
        let mut headers = headers.into_iter();
        let coded = |(name, value): (&[u8], &[u8])| {
            name == b"content-encoding" && !value.trim_ascii().eq_ignore_ascii_case(b"identity")
        };
        if (502..=504).contains(&status) && headers.any(coded) {
            return Self::Lost;
        }
        let says = |words: &[u8]| body.windows(words.len()).any(|window| window == words);
        match status {
            503 if body.starts_with(b"no healthy upstream") => Self::NotSent,
            502..=504
                if body
                    .starts_with(b"upstream connect error or disconnect/reset before headers") =>
            {
                // After a retry the first attempt may have been sent, whatever became of the last.
                let never = says(b"reset reason: connection failure")
                    || says(b"reset reason: remote connection failure")
                    || says(b"reset reason: local connection failure")
                    || says(b"reset reason: connection timeout")
                    || says(b"reset reason: overflow");
                if never && !says(b"retried and the latest") {
                    Self::NotSent
                } else {
                    Self::Lost
                }
            }
            504 if body.starts_with(b"upstream request timeout") => Self::Lost,
            status => Self::Answered(status),
        }
    }

    /// What that makes of the record, by the rule of its route; `None` where the answer is to be stored.
    pub fn settled(self, rule: &Idempotency) -> Option<Settled> {
        match (self, &rule.by) {
            (Self::NotSent, _) => Some(Settled::Released),
            (Self::Lost, By::Key { .. }) => Some(Settled::Unknown),
            // A delivery that was not confirmed is delivered again, unless the policy holds it.
            (Self::Lost, By::Event { .. }) => Some(match rule.unknown {
                crate::policy::UnknownRule::Hold => Settled::Unknown,
                crate::policy::UnknownRule::Retry => Settled::Released,
            }),
            (Self::Answered(status), By::Key { release, .. }) => {
                release.contains(&status).then_some(Settled::Released)
            }
            (Self::Answered(status), By::Event { .. }) => {
                (!(200..300).contains(&status)).then_some(Settled::Released)
            }
        }
    }
}
