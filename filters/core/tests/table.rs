//! One table of cases for every place where the core runs: here natively, under wasm-bindgen-test on
//! wasm32-unknown-unknown, and, in the end-to-end tests, through the built module in a real Envoy.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use tidegate_core::cases::{self, Cases};
use tidegate_core::policy::Policy;

macro_rules! tables {
    ($($name:ident $folder:literal)*) => {
        $(
        #[cfg_attr(target_family = "wasm", wasm_bindgen_test::wasm_bindgen_test)]
        #[cfg_attr(not(target_family = "wasm"), test)]
        fn $name() {
            run(
                include_bytes!(concat!("../../../", $folder, "/policy.json")),
                include_bytes!(concat!("../../../", $folder, "/policy.test.json")),
            );
        }
        )*

        /// The folders that this table names.
        #[cfg(not(target_family = "wasm"))]
        const FOLDERS: &[&str] = &[$($folder),*];
    };
}

tables! {
    first_limit "policies/first-limit"
    guests "policies/guests"
    partners "policies/partners"
    plans "policies/plans"
    safe_retries "policies/safe-retries"
    tenant_cache "policies/tenant-cache"
    webhooks "policies/webhooks"
    several_limits "filters/core/tests/table/several-limits"
    shadow "filters/core/tests/table/shadow"
    routes "filters/core/tests/table/routes"
    dimensions "filters/core/tests/table/dimensions"
    identities "filters/core/tests/table/identities"
    once "filters/core/tests/table/once"
    canary "filters/core/tests/table/canary"
}

fn run(policy: &[u8], cases: &[u8]) {
    let policy = Policy::parse(policy).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let cases = Cases::parse(cases).unwrap();
    let (ran, failures) = cases::run(&policy, &cases);
    let shown: Vec<_> = failures.iter().map(ToString::to_string).collect();
    assert!(
        failures.is_empty(),
        "{} of {ran} steps:\n{}",
        failures.len(),
        shown.join("\n")
    );
    assert!(ran > 0);
}

#[cfg(not(target_family = "wasm"))]
#[test]
fn every_folder_is_in_the_table() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for parent in ["policies", "filters/core/tests/table"] {
        for entry in std::fs::read_dir(root.join(parent)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                let folder = format!("{parent}/{}", entry.file_name().to_string_lossy());
                assert!(
                    FOLDERS.contains(&folder.as_str()),
                    "{folder} is not in the table"
                );
            }
        }
    }
}
