//! What the documents say, held to the code.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use tidegate_core::denial::{RESPONSE_RULES, RULES};
use tidegate_core::policy::Policy;

fn document(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_policy_on_the_first_screen_is_one() {
    let readme = document("README.md");
    let (_, rest) = readme.split_once("```json\n").unwrap();
    let (policy, _) = rest.split_once("```").unwrap();
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    assert_eq!(policy.name, "first-limit");
}

#[test]
fn every_problem_type_is_documented() {
    let answers = document("docs/answers.md");
    let rules = RULES.iter().chain(&RESPONSE_RULES);
    // This one has a type that IANA registers.
    let own = rules.filter(|rule| **rule != "store-unavailable");
    for kind in own {
        assert!(
            answers.contains(&format!("`urn:tidegate:problem:{kind}`")),
            "{kind}"
        );
    }
}
