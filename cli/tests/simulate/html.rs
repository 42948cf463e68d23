//! The page that a person forwards.

use std::fs;

use serde_json::json;

use crate::run::{BY_ACCOUNT, BY_ADDRESS, at, folder, printed, report, simulate};

/// A caller whose name is an attack.
const ATTACK: &str = "<script>alert(1)</script>";

fn page() -> String {
    let load = json!({"load": "<b>load</b>", "groups": [{"account": ATTACK, "rate": [{"for": "10s", "total": 100}],
        "requests": [{"path": "/<img src=x>", "headers": {"x-account": ATTACK}}]}]});
    let files = folder(&[("account.json", BY_ACCOUNT), ("address.json", BY_ADDRESS)]);
    let (policy, other) = (
        at(&files, "account.json"),
        at(&files, "address.json").clone(),
    );
    let wide = BY_ADDRESS.replace("\"burst\": 2", "\"burst\": 50");
    fs::write(&other, wide).unwrap();
    let page = at(&files, "report.html");
    let load = load.to_string();
    let output = simulate(&[
        &policy,
        "--load",
        &load,
        "--against",
        &other,
        "--html",
        &page,
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        printed(&output).contains("would have refused 89 of 100 requests"),
        "{}",
        printed(&output)
    );
    fs::read_to_string(page).unwrap()
}

#[test]
fn it_needs_nothing_else_and_has_every_part() {
    let page = page();
    assert!(page.starts_with("<!DOCTYPE html>"));
    for outside in [
        "http:",
        "https:",
        "src=\"",
        "href=",
        "@import",
        "url(",
        "<link",
        "<iframe",
        "javascript:",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "would have refused 89 of 100",
        "Admitted and refused",
        "Refusals by rule",
        "By which limit",
        "Who was refused most",
        "Limit account: 60/min, burst 2",
        "the smallest burst is",
        "Against by-address 1",
        "stricter on",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Outcomes, rules, callers, a curve, and the differences.
    assert_eq!(page.matches("<svg ").count(), 5);
}

#[test]
fn what_clients_say_is_text_in_it_in_charts_too() {
    let page = page();
    assert!(!page.contains("<script") && !page.contains("<b>load") && !page.contains("<img"));
    let name = "&lt;script&gt;";
    assert!(page.contains(name));
    let charts = page
        .split("<svg ")
        .skip(1)
        .map(|rest| rest.split("</svg>").next().unwrap());
    assert!(
        charts.into_iter().any(|chart| chart.contains(name)),
        "the chart of callers names them"
    );
}

#[test]
fn every_element_that_is_opened_is_closed() {
    const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let page = page();
    let mut open = Vec::new();
    for tag in page
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap())
    {
        let name = tag.split_whitespace().next().unwrap();
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name.to_owned()), "{tag}");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn a_page_that_cannot_be_written_is_said() {
    let files = folder(&[("policy.json", BY_ADDRESS)]);
    let policy = at(&files, "policy.json");
    let load = r#"{"groups": [{"rate": [{"for": "1s", "total": 1}]}]}"#;
    let output = simulate(&[
        &policy,
        "--load",
        load,
        "--html",
        "/no/such/folder/report.html",
    ]);
    assert_eq!(output.status.code(), Some(4));
    // Nothing is refused: there is nothing about refusals, and still a page.
    let page = at(&files, "calm.html");
    report(&[&policy, "--load", load, "--html", &page]);
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("would have let all 1 requests of 1 callers through")
            && !page.contains("Who was refused most")
    );
}
