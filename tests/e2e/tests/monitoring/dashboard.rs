//! envoy/grafana/tidegate.json, query by query.

use serde_json::Value;

use super::exported::Exported;
use super::{list, placeholders, query, read, text};

/// What Grafana puts in place of its variables, as far as a parser has to know.
const VARIABLES: [(&str, &str); 4] = [
    ("$__rate_interval", "5m"),
    ("$__range", "3h"),
    ("=~\"$policy\"", "=~\".*\""),
    ("=~\"$job\"", "=~\".*\""),
];

fn dashboard() -> Value {
    serde_json::from_str(&read("envoy/grafana/tidegate.json")).unwrap()
}

fn parsable(expr: &str) -> String {
    let mut expr = expr.to_owned();
    for (variable, value) in VARIABLES {
        expr = expr.replace(variable, value);
    }
    assert!(!expr.contains('$'), "a variable that is not known: {expr}");
    expr
}

#[tokio::test]
async fn every_panel_speaks_of_what_is_told() {
    let exported = Exported::scrape().await;
    let dashboard = dashboard();
    let mut queries = 0;
    for panel in list(&dashboard, "/panels") {
        if panel["type"] == "row" {
            continue;
        }
        for target in list(panel, "/targets") {
            let labels = query::labels(&parsable(text(target, "expr")), &exported);
            for label in placeholders(text(target, "legendFormat"), "{{", &['}']) {
                let title = &panel["title"];
                assert!(
                    labels.contains(label),
                    "{title}: no label `{label}` in {labels:?}"
                );
            }
            queries += 1;
        }
    }
    assert!(queries > 20, "{queries} queries");
}

#[tokio::test]
async fn every_marker_and_variable_speaks_of_what_is_told() {
    let exported = Exported::scrape().await;
    let dashboard = dashboard();
    let markers = list(&dashboard, "/annotations/list");
    assert_eq!(markers.len(), 2);
    for marker in markers {
        let labels = query::labels(&parsable(text(marker, "expr")), &exported);
        for label in placeholders(text(marker, "titleFormat"), "{{", &['}']) {
            assert!(labels.contains(label), "no label `{label}` in {labels:?}");
        }
    }
    for variable in list(&dashboard, "/templating/list") {
        if variable["type"] != "query" {
            continue;
        }
        let asked = text(variable, "query");
        let inside = asked
            .strip_prefix("label_values(")
            .and_then(|rest| rest.strip_suffix(')'));
        let (series, label) = inside.and_then(|inside| inside.split_once(", ")).unwrap();
        assert!(query::labels(series, &exported).contains(label), "{asked}");
    }
}
