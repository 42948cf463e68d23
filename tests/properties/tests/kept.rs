//! What the fuzz targets began with and what they found, fed to each property again: `fuzz/seeds/` and `fuzz/cases/`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_properties::ALL;

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

#[test]
fn what_was_found_once_holds_now() {
    let mut broken = Vec::new();
    for (name, property) in ALL {
        let seeds = files(&root().join("seeds").join(name));
        assert!(seeds.len() >= 3, "{name}: {} seeds", seeds.len());
        for file in seeds
            .into_iter()
            .chain(files(&root().join("cases").join(name)))
        {
            let bytes = fs::read(&file).unwrap();
            if std::panic::catch_unwind(|| property(&bytes)).is_err() {
                broken.push(file);
            }
        }
    }
    assert!(broken.is_empty(), "these do not hold: {broken:#?}");
}

#[test]
fn each_property_has_a_target() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for (name, _) in ALL {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        assert!(
            root().join(format!("targets/{name}.rs")).is_file(),
            "{name}"
        );
    }
    let targets = files(&root().join("targets"));
    assert_eq!(targets.len(), ALL.len());
}
