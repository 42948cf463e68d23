//! The figures of two outages: what is admitted is what arithmetic says.
//!
//! A bucket that is never full again admits its burst and one more for each whole time in which a unit comes back, from
//! its first request to its last.

use serde_json::Value;

use crate::run::{at, folder, limit, report, rule};

const ELEVEN_HOURS: u64 = 11 * 3_600;
const EVENTS: u64 = 487_195;

/// When the last of so many events comes that are spread evenly over eleven hours, in seconds.
fn last(events: u64) -> f64 {
    (events - 1) as f64 * ELEVEN_HOURS as f64 / events as f64
}

fn admitted(report: &Value) -> u64 {
    report["totals"]["admitted"].as_u64().unwrap()
}

#[test]
fn the_webhook_flood_of_one_source_gets_its_burst_and_its_rate() {
    let found = report(&[
        "policies/webhooks",
        "--load",
        "@policies/webhooks/load-one-source.json",
    ]);
    assert_eq!(found["totals"]["requests"], EVENTS);
    // 30 a minute, 4 at once.
    let expected = 4 + (last(EVENTS) / 2.0) as u64;
    assert_eq!((admitted(&found), expected), (19_803, 19_803));
    assert_eq!(rule(&found, "source")["first_to_refuse"], EVENTS - expected);
    assert_eq!(rule(&found, "tenant-ceiling")["refused"], 0);
    // What would have been enough: all but the burst, over the time between the first event and the last.
    let tier = &limit(&found, "source")["tiers"][0];
    let per_minute = ((EVENTS - 4) as f64 / last(EVENTS) * 60.0).ceil();
    assert_eq!(tier["smallest_rate"], format!("{per_minute}/min"));
    let refilled = last(EVENTS) / 2.0;
    assert_eq!(
        tier["smallest_burst"],
        (EVENTS as f64 - refilled).ceil() as u64
    );
}

#[test]
fn ten_sources_under_their_own_budgets_meet_the_ceiling_of_their_tenant() {
    let found = report(&[
        "policies/webhooks",
        "--load",
        "@policies/webhooks/load.json",
    ]);
    let quiet = 6_000;
    assert_eq!(found["totals"]["requests"], EVENTS + quiet);
    // 60 a minute for the tenant, 8 at once; everybody else goes through.
    let expected = 8 + last(EVENTS) as u64;
    assert_eq!(admitted(&found), expected + quiet);
    assert_eq!(
        rule(&found, "tenant-ceiling")["first_to_refuse"],
        EVENTS - expected
    );
    assert_eq!(rule(&found, "source")["refused"], 0);
    assert_eq!(found["callers"]["seen"], 50);
    assert_eq!(found["callers"]["refused"], 10);
    for one in found["top"].as_array().unwrap() {
        assert_eq!(one["caller"]["tenant"], "acme");
    }
}

#[test]
fn the_limit_that_was_sized_against_denial_of_service_refuses_none_of_it() {
    let old = r#"{"policy": "old", "version": "1", "limits": {"all": {"per": ["method"], "rate": "720000/h"}}, "always": ["all"]}"#;
    let files = folder(&[("old.json", old)]);
    let found = report(&[
        &at(&files, "old.json"),
        "--load",
        "@policies/webhooks/load.json",
    ]);
    assert_eq!(found["totals"]["refused"], 0);
    assert_eq!(admitted(&found), EVENTS + 6_000);
}

#[test]
fn the_firmware_update_gets_a_steady_trickle_and_no_other_partner_feels_it() {
    let found = report(&[
        "policies/partners",
        "--load",
        "@policies/partners/load.json",
    ]);
    // 40/s for 60 s, a ramp to 1,600/s in 90 s, 1,600/s for 450 s; and 800/s of others.
    let fleet = 40 * 60 + (40 + 1_600) * 90 / 2 + 1_600 * 450;
    let others = 800 * 600;
    assert_eq!(found["totals"]["requests"], fleet + others);
    // Until it sends more than 100/s all of it goes through, with a full bucket; from then on 200 and 100/s.
    let crossing = 60.0 + (100.0 - 40.0) / (1_600.0 - 40.0) * 90.0;
    let before = 2_400.0 + (40.0 + 100.0) / 2.0 * (crossing - 60.0);
    let expected = before + 200.0 + 100.0 * (600.0 - crossing);
    // The crossing lies between two requests, and so does the end: one more or less.
    let fleet_admitted = admitted(&found) - others;
    assert!(
        (fleet_admitted as f64 - expected).abs() <= 1.0,
        "{fleet_admitted} {expected}"
    );
    // One bucket of twenty-one refused anything.
    let tier = &limit(&found, "partner")["tiers"][0];
    assert_eq!(
        (tier["buckets"].as_u64(), tier["refused_buckets"].as_u64()),
        (Some(21), Some(1))
    );
    for one in found["top"].as_array().unwrap() {
        assert_eq!(one["caller"]["tenant"], "partner-1");
    }
    // No window edge lets twice the limit through, and no window's end refuses all: 100/s in each span, one more or less.
    let timeline = &found["timeline"];
    let seconds = timeline["span_seconds"].as_f64().unwrap();
    let spans = timeline["spans"].as_array().unwrap();
    let steady = spans.len() / 2..spans.len() - 1;
    for span in &spans[steady] {
        let through = span[0].as_f64().unwrap();
        let wanted = (100.0 + 800.0) * seconds;
        assert!(
            (through - wanted).abs() <= 2.0,
            "{through} in a span of {seconds} s"
        );
    }
}
