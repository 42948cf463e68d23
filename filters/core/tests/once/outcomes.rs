//! What Envoy says became of a call.

use tidegate_core::idempotency::Outcome;

#[test]
fn a21_a23_the_details_of_a_response_tell_what_became_of_the_call() {
    use Outcome::{Answered, Lost, NotSent};
    // The details, whether a host was chosen, and what that makes of a call.
    let table = [
        ("via_upstream", true, Answered(200)),
        // Envoy's caches name what they did.
        ("cache.insert_via_upstream", true, Answered(200)),
        ("cache.response_from_cache_filter", false, Answered(200)),
        ("cache.hit", false, Answered(200)),
        // A gate behind made the call, and this is the origin's answer; or it answered in the origin's place.
        ("tidegate_detached", false, Answered(200)),
        ("tidegate_replayed", false, NotSent),
        ("tidegate_request-in-progress", false, NotSent),
        // Nobody was there to send it to.
        ("no_healthy_upstream", false, NotSent),
        ("cluster_not_found", false, NotSent),
        ("route_not_found", false, NotSent),
        ("direct_response", false, NotSent),
        ("cache_no_route", false, NotSent),
        ("rbac_access_denied_matched_policy[none]", false, NotSent),
        ("request_payload_too_large", false, NotSent),
        ("downstream_remote_disconnect", false, NotSent),
        ("", false, NotSent),
        // Nobody took the connection.
        (
            "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
            true,
            NotSent,
        ),
        (
            "upstream_reset_before_response_started{local_connection_failure}",
            true,
            NotSent,
        ),
        (
            "upstream_reset_before_response_started{connection_timeout}",
            true,
            NotSent,
        ),
        (
            "upstream_reset_before_response_started{overflow}",
            true,
            NotSent,
        ),
        // It was sent, or may have been.
        (
            "upstream_reset_before_response_started{connection_termination}",
            true,
            Lost,
        ),
        (
            "upstream_reset_before_response_started{remote_reset}",
            true,
            Lost,
        ),
        (
            "upstream_reset_before_response_started{protocol_error}",
            true,
            Lost,
        ),
        (
            "upstream_reset_after_response_started{connection_termination}",
            true,
            Lost,
        ),
        ("upstream_response_timeout", true, Lost),
        ("response_timeout", true, Lost),
        ("upstream_per_try_timeout", true, Lost),
        ("upstream_max_stream_duration_reached", true, Lost),
        ("downstream_remote_disconnect", true, Lost),
        ("downstream_local_disconnect(overload)", true, Lost),
        ("stream_idle_timeout", true, Lost),
        ("request_payload_too_large", true, Lost),
        ("", true, Lost),
    ];
    for (details, chosen, expected) in table {
        let found = Outcome::of(200, details.as_bytes(), chosen);
        assert_eq!(found, expected, "{details} {chosen}");
    }
}

#[test]
fn a23_only_the_reason_itself_says_that_there_was_no_connection() {
    // What stands behind the reason is whatever the transport said.
    for details in [
        "upstream_reset_before_response_started{connection_termination|overflow}",
        "upstream_reset_before_response_started{protocol_error|connection_failure}",
        "upstream_reset_before_response_started{remote_reset|connection_timeout}",
    ] {
        assert_eq!(
            Outcome::of(0, details.as_bytes(), true),
            Outcome::Lost,
            "{details}"
        );
    }
}

/// What an Envoy on the way says of a call that it lost is read in its text, which a filter may have compressed.
#[test]
fn a21_a_compressed_error_of_a_proxy_tells_nothing() {
    use Outcome::{Answered, Lost, NotSent};
    let of = |status: u16, coding: Option<&str>, body: &str| {
        let coding = coding.map(|coding| (&b"content-encoding"[..], coding.as_bytes()));
        let headers = [(&b"content-type"[..], &b"text/plain"[..])];
        Outcome::of_call(status, headers.into_iter().chain(coding), body.as_bytes())
    };
    let lost = "upstream connect error or disconnect/reset before headers. reset reason: connection termination";
    let never = "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure";
    for (status, coding, body, outcome) in [
        (503, None, lost, Lost),
        (503, None, never, NotSent),
        (503, Some("identity"), never, NotSent),
        (503, None, "busy", Answered(503)),
        (503, Some("gzip"), "\u{1f}", Lost),
        (502, Some("br"), "", Lost),
        (504, Some(" GZIP "), "", Lost),
        (500, Some("gzip"), "\u{1f}", Answered(500)),
        (200, Some("gzip"), "\u{1f}", Answered(200)),
        (429, Some("gzip"), "\u{1f}", Answered(429)),
    ] {
        assert_eq!(
            of(status, coding, body),
            outcome,
            "{status} {coding:?} {body}"
        );
    }
}
