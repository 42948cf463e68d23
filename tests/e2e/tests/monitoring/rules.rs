//! envoy/prometheus/rules.yaml, rule by rule.

use serde_json::Value;

use super::exported::Exported;
use super::{list, placeholders, query, read, text};

pub(crate) const FILE: &str = "envoy/prometheus/rules.yaml";

/// The rules in their order.
pub(crate) fn rules() -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(&read(FILE)).unwrap();
    let groups = list(&file, "/groups");
    let rules = groups.iter().flat_map(|group| list(group, "/rules"));
    rules.cloned().collect()
}

#[tokio::test]
async fn every_rule_speaks_of_what_is_told() {
    let mut exported = Exported::scrape().await;
    let (mut records, mut alerts) = (0, 0);
    for rule in rules() {
        let labels = query::labels(text(&rule, "expr"), &exported);
        if let Some(name) = rule["record"].as_str() {
            exported.add(name, labels.iter().map(String::as_str));
            records += 1;
            continue;
        }
        alerts += 1;
        let name = text(&rule, "alert");
        let summary = text(&rule["annotations"], "summary");
        for label in placeholders(summary, "$labels.", &[' ', '}']) {
            assert!(
                labels.contains(label),
                "{name}: no label `{label}` in {labels:?}"
            );
        }
        let severity = text(&rule["labels"], "severity");
        assert!(
            ["page", "ticket", "info"].contains(&severity),
            "{name}: `{severity}`"
        );
    }
    assert!(
        records > 0 && alerts > 0,
        "{records} records, {alerts} alerts"
    );
}

#[test]
fn every_alert_has_a_test_that_makes_it_fire() {
    let tests = read("envoy/prometheus/rules.test.yaml");
    for rule in rules() {
        if let Some(name) = rule["alert"].as_str() {
            let fires = format!("alertname=\"{name}\"");
            let annotated = format!("alertname: {name}\n");
            assert!(
                tests.contains(&fires) || tests.contains(&annotated),
                "{name}"
            );
        }
    }
}
