//! What leaves the gate.

use tidegate_core::cache::origin::{Told, response};
use tidegate_core::cache::{Marker, Mismatch, Plan, Sender, outgoing};

use crate::{Asked, edited, lines, policy, values};

const AMY: [(&str, &str); 2] = [("x-tenant", "red"), ("x-account", "amy")];

fn plan(cache: &str, headers: &[(&str, &str)]) -> Plan {
    let policy = policy(&format!(
        r#"[{{"name": "r", "match": {{"path": "/r"}}, "cache": {cache}}}]"#
    ));
    Asked::new(&policy).get("/r", headers)
}

fn digits(marker: &Marker) -> String {
    String::from_utf8(marker.as_bytes().to_vec()).unwrap()
}

/// What becomes of a response on its way through the role `origin` and the gate.
fn through(plan: &Plan, headers: &[(&str, &str)]) -> Result<Vec<(String, String)>, Mismatch> {
    let told = Told {
        instruction: Some(plan.instruction),
        marker: plan.marker,
    };
    let headers = lines(headers);
    let behind = edited(&headers, &response(&told, &headers));
    let behind: Vec<_> = behind
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let behind = lines(&behind);
    let edits = outgoing(&plan.expected, Sender::Upstream, &behind)?;
    Ok(edited(&behind, &edits))
}

const SCOPED: &str = r#"{"scope": ["tenant", "account"]}"#;

#[test]
fn the_caller_gets_what_the_origin_sent_and_private() {
    let plan = plan(SCOPED, &AMY);
    for (control, wanted) in [
        (vec![], "private"),
        (vec!["public, max-age=60"], "private, max-age=60"),
        (
            vec!["Max-Age=60, S-MAXAGE=9, proxy-revalidate"],
            "private, max-age=60",
        ),
        (
            vec!["no-cache", "max-age=0"],
            "private, no-cache, max-age=0",
        ),
        (vec!["no-store"], "private, no-store"),
        (
            vec!["PRIVATE=\"x\", no-cache=\"a, b\""],
            "private, no-cache=\"a, b\"",
        ),
    ] {
        let mut sent = vec![(":status", "200"), ("etag", "\"e\""), ("age", "7")];
        sent.extend(control.iter().map(|value| ("cache-control", *value)));
        let got = through(&plan, &sent).unwrap();
        assert_eq!(values(&got, "cache-control"), [wanted]);
        assert_eq!(
            (values(&got, "etag"), values(&got, "age")),
            (vec!["\"e\""], vec!["7"])
        );
        assert!(
            !got.iter().any(|(name, _)| name.starts_with("x-tidegate")),
            "{got:?}"
        );
    }
}

#[test]
fn no_cache_before_the_gate_is_told_to_keep_a_scopes_own() {
    let sent = [
        (":status", "200"),
        ("cdn-cache-control", "max-age=60"),
        ("fastly-cdn-cache-control", "max-age=60"),
        ("surrogate-control", "max-age=60"),
        ("no-vary-search", "params"),
    ];
    let got = through(&plan(SCOPED, &AMY), &sent).unwrap();
    let names: Vec<_> = got.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [":status", "no-vary-search", "cache-control"]);
    // What is everybody's passes as it is.
    let got = through(&plan(r#"{"scope": "public"}"#, &[]), &sent).unwrap();
    for (name, value) in sent {
        assert_eq!(values(&got, name), [value], "{name}");
    }
    assert_eq!(values(&got, "cache-control"), [""; 0]);
}

#[test]
fn a_response_that_was_vetoed_leaves_as_the_origin_sent_it() {
    let public = plan(r#"{"scope": "public"}"#, &[]);
    for sent in [
        vec![
            (":status", "200"),
            ("set-cookie", "a=b"),
            ("cache-control", "Max-Age=60"),
        ],
        vec![(":status", "200"), ("set-cookie", "a=b")],
        vec![
            (":status", "200"),
            ("cache-control", "no-store"),
            ("x-accel-expires", "9"),
        ],
    ] {
        let mut got = through(&public, &sent).unwrap();
        let mut wanted: Vec<_> = sent
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        got.sort();
        wanted.sort();
        assert_eq!(got, wanted);
    }
}

#[test]
fn c25_another_callers_seal_or_none_is_a_mismatch() {
    let plan = plan(SCOPED, &AMY);
    let own = digits(&plan.marker.unwrap());
    let other = digits(&Marker::from_bytes([1; 32]));
    let answer = |status, sender, seals: &[&str]| {
        let mut headers = vec![(":status", status)];
        headers.extend(seals.iter().map(|seal| ("x-tidegate-seal", *seal)));
        outgoing(&plan.expected, sender, &lines(&headers)).map(drop)
    };
    for sender in [Sender::Upstream, Sender::Cache] {
        for status in ["200", "204", "304", "404", "500", "503"] {
            assert_eq!(answer(status, sender, &[&own]), Ok(()));
        }
        for status in ["200", "204", "301"] {
            assert_eq!(answer(status, sender, &[]), Err(Mismatch::NoSeal));
        }
        // A confirmation has no body that could be another's.
        assert_eq!(answer("304", sender, &[]), Ok(()));
        for (status, number) in [
            ("400", 400),
            ("404", 404),
            ("431", 431),
            ("500", 500),
            ("503", 503),
        ] {
            let hidden = Err(Mismatch::NoAnswer(number));
            assert_eq!(answer(status, sender, &[]), hidden);
        }
    }
    for sender in [Sender::Upstream, Sender::Cache, Sender::Envoy] {
        for status in ["200", "304", "503"] {
            for seals in [&[other.as_str()][..], &[&own, &own], &[""]] {
                assert_eq!(answer(status, sender, seals), Err(Mismatch::Seal));
            }
        }
    }
    assert_eq!(answer("200", Sender::Envoy, &[]), Ok(()));
}

#[test]
fn c8_a_sealed_copy_is_nobodys_whose_request_was_for_none() {
    let seal = digits(&Marker::from_bytes([1; 32]));
    let sealed = lines(&[(":status", "200"), ("x-tidegate-seal", &seal)]);
    let routes = r#"[{"name": "r", "match": {"path": "/r"}, "cache": {"scope": ["account"]}}, {"name": "other"}]"#;
    let policy = policy(routes);
    for path in ["/r", "/other"] {
        let plan = Asked::new(&policy).get(path, &[]);
        assert_eq!(
            outgoing(&plan.expected, Sender::Upstream, &sealed),
            Err(Mismatch::Seal),
            "{path}"
        );
    }
}

#[test]
fn c8_a_copy_is_nobodys_whose_request_was_for_none() {
    let policy = policy(
        r#"[{"name": "r", "match": {"path": "/r"}, "cache": {"scope": "public"}}, {"name": "other"}]"#,
    );
    let mut asked = Asked::new(&policy);
    let plain = lines(&[(":status", "200")]);
    let from = |plan: &Plan, sender| outgoing(&plan.expected, sender, &plain).map(drop);
    let (public, other) = (asked.get("/r", &[]), asked.get("/other", &AMY));
    assert_eq!(from(&public, Sender::Cache), Ok(()));
    assert_eq!(from(&other, Sender::Cache), Err(Mismatch::Copy));
    assert_eq!(from(&other, Sender::Upstream), Ok(()));
}

#[test]
fn without_a_seal_required_one_that_is_there_still_counts() {
    let plan = plan(r#"{"scope": ["account"], "seal": "off"}"#, &AMY);
    let seal = digits(&Marker::from_bytes([1; 32]));
    let none = lines(&[(":status", "200")]);
    assert!(outgoing(&plan.expected, Sender::Upstream, &none).is_ok());
    let wrong = lines(&[(":status", "200"), ("x-tidegate-seal", &seal)]);
    assert_eq!(
        outgoing(&plan.expected, Sender::Upstream, &wrong),
        Err(Mismatch::Seal)
    );
}

#[test]
fn c25_the_owner_that_the_origin_names_is_the_caller() {
    let tenant = r#"{"scope": ["account", "tenant"], "owner_header": "x-owner"}"#;
    let account = r#"{"scope": ["account"], "owner_header": "X-Owner"}"#;
    let key = [("x-tenant", "red"), ("x-key", "s3cret")];
    let guest = [("x-tenant", "red")];
    let none: [(&str, &str); 0] = [];
    for (cache, caller, status, owners, right) in [
        (tenant, &AMY[..], "200", &["red"][..], true),
        (tenant, &AMY, "200", &["blue"], false),
        (tenant, &AMY, "200", &["amy"], false),
        (tenant, &AMY, "200", &["red", "blue"], false),
        (tenant, &AMY, "200", &[""], false),
        (tenant, &AMY, "200", &[], false),
        (tenant, &AMY, "500", &[], true),
        (tenant, &AMY, "500", &["blue"], false),
        (account, &AMY, "200", &["amy"], true),
        (account, &AMY, "200", &["red"], false),
        (account, &key, "200", &["s3cret"], true),
        (account, &key, "200", &["other"], false),
        (tenant, &guest, "200", &["red"], true),
        (tenant, &none, "200", &[], true),
        (tenant, &none, "200", &["red"], false),
        (account, &guest, "200", &["amy"], false),
    ] {
        let mut headers = vec![(":status", status)];
        headers.extend(owners.iter().map(|owner| ("x-owner", *owner)));
        let got = through(&plan(cache, caller), &headers);
        let wanted = if right { None } else { Some(Mismatch::Owner) };
        assert_eq!(
            got.as_ref().err().copied(),
            wanted,
            "{cache} {caller:?} {status} {owners:?}"
        );
        if let Ok(got) = got {
            assert_eq!(values(&got, "x-owner"), owners, "it is the origin's own");
        }
    }
}

#[test]
fn c12_the_marker_leaves_in_no_header() {
    let plan = plan(SCOPED, &AMY);
    let marker = digits(&plan.marker.unwrap());
    let location = format!("https://h/r?__tidegate={marker}");
    let link = format!("</r?a&__tidegate={marker}>; rel=self");
    let status = format!("Cache; hit; key=\"/r?__tidegate={marker}\"");
    let headers = lines(&[
        (":status", "301"),
        ("location", &location),
        ("content-location", &location),
        ("link", "</x>"),
        ("link", &link),
        ("cache-status", &status),
        ("vary", "accept, X-Tidegate-Scope"),
        ("vary", "x-other"),
    ]);
    let got = edited(
        &headers,
        &outgoing(&plan.expected, Sender::Envoy, &headers).unwrap(),
    );
    assert!(
        !got.iter().any(|(_, value)| value.contains(&marker)),
        "{got:?}"
    );
    assert_eq!(values(&got, "location"), ["https://h/r"]);
    assert_eq!(values(&got, "link"), ["</x>", "</r?a>; rel=self"]);
    assert_eq!(values(&got, "cache-status"), ["Cache; hit; key=\"/r\""]);
    assert_eq!(values(&got, "vary"), ["accept, x-other"]);
}

#[test]
fn c14_vary_leaves_as_the_origin_sent_it() {
    let by_header = r#"{"scope": ["account"], "by": "header"}"#;
    for cache in [SCOPED, by_header, r#"{"scope": "public"}"#] {
        for sent in [&[][..], &["accept"], &["accept", "x-other"], &["*"]] {
            let mut headers = vec![(":status", "200")];
            headers.extend(sent.iter().map(|value| ("vary", *value)));
            let got = through(&plan(cache, &AMY), &headers).unwrap();
            assert_eq!(values(&got, "vary").join(", "), sent.join(", "), "{cache}");
        }
    }
}

#[test]
fn c24_cache_status_is_added_to_and_says_hit_or_forward_and_not_both() {
    let plan = plan(SCOPED, &AMY);
    let seal = digits(&plan.marker.unwrap());
    let headers = lines(&[
        (":status", "200"),
        ("x-tidegate-seal", &seal),
        ("cache-status", "Inner; fwd=miss"),
    ]);
    let status = |sender| {
        let got = edited(
            &headers,
            &outgoing(&plan.expected, sender, &headers).unwrap(),
        );
        values(&got, "cache-status").join(", ")
    };
    assert_eq!(status(Sender::Cache), "Inner; fwd=miss, tidegate; hit");
    assert_eq!(status(Sender::Upstream), "Inner; fwd=miss");
}

#[test]
fn what_an_application_says_in_our_name_reaches_nobody() {
    let scoped = plan(SCOPED, &AMY);
    let bypass = plan(SCOPED, &[]);
    let kept = "x-tidegate-kept-cache-control";
    let twice = "x-tidegate-kept-x-tidegate-kept-cache-control";
    for plan in [scoped, bypass] {
        let sent = [
            (":status", "200"),
            (kept, "public"),
            (twice, "public"),
            ("x-tidegate-seal", "1"),
        ];
        let got = through(&plan, &sent).unwrap();
        assert!(
            !got.iter().any(|(name, _)| name.starts_with("x-tidegate")),
            "{got:?}"
        );
        assert_ne!(values(&got, "cache-control"), ["public"]);
        // Nor where nothing behind the gate takes it out.
        let mut expected = plan.expected;
        expected.sealed = false;
        let sent = lines(&sent[..3]);
        let got = edited(
            &sent,
            &outgoing(&expected, Sender::Upstream, &sent).unwrap(),
        );
        assert!(
            !got.iter().any(|(name, _)| name.starts_with("x-tidegate")),
            "{got:?}"
        );
    }
}

/// What stands in a copy is everybody's who shares it, however it came there; who is answered by the origin keeps his own.
#[test]
fn c7_c23_a_copy_has_no_cookie() {
    const FIELDS: [(&str, &str); 5] = [
        ("set-cookie", "sid=bob"),
        ("set-cookie2", "sid=bob"),
        ("proxy-authenticate", "Basic"),
        ("proxy-authentication-info", "a=b"),
        ("proxy-authorization", "Basic eA=="),
    ];
    for (cache, caller) in [(SCOPED, &AMY[..]), (r#"{"scope": "public"}"#, &[])] {
        let plan = plan(cache, caller);
        let told = Told {
            instruction: Some(plan.instruction),
            marker: plan.marker,
        };
        let left = |status: &'static str, sender: Sender| {
            let mut headers = vec![(":status", status), ("etag", "\"e\"")];
            headers.extend(FIELDS);
            let headers = lines(&headers);
            let behind = edited(&headers, &response(&told, &headers));
            let behind: Vec<_> = (behind.iter())
                .map(|(n, v)| (n.as_str(), v.as_str()))
                .collect();
            let behind = lines(&behind);
            let edits = outgoing(&plan.expected, sender, &behind).unwrap();
            let got = edited(&behind, &edits);
            FIELDS.map(|(name, _)| got.iter().any(|(known, _)| known == name))
        };
        assert_eq!(left("200", Sender::Upstream), [true; 5]);
        assert_eq!(left("200", Sender::Cache), [false; 5]);
        // A confirmation becomes a part of the copy, wherever the cache is.
        assert_eq!(left("304", Sender::Upstream), [false; 5]);
    }
}
