//! The test programs of the workspace, and the tests in each that are named after statements.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::name::numbers;
use crate::statement::Number;

/// Packages whose tests may be named after statements, and how each is tested.
pub(crate) const PACKAGES: [(&str, &[&str]); 3] = [
    ("tidegate-core", &["--all-features"]),
    ("tidegate-cli", &[]),
    ("tidegate-e2e", &[]),
];

/// A program that runs tests.
#[derive(Debug)]
pub(crate) struct Program {
    /// How `cargo test` is told to run this program alone.
    pub(crate) arguments: Vec<String>,
    /// The name of its file, by which logs call it.
    pub(crate) file: String,
    pub(crate) tests: Vec<Test>,
}

/// A test that is named after statements.
#[derive(Debug)]
pub(crate) struct Test {
    /// With the modules before it.
    pub(crate) name: String,
    pub(crate) numbers: Vec<Number>,
    /// Where it is written, from the root of the repository.
    pub(crate) source: String,
}

impl Test {
    /// The name of its function.
    pub(crate) fn function(&self) -> &str {
        function(&self.name)
    }
}

/// What cargo says of something that it built, as far as it matters here.
#[derive(Deserialize)]
struct Artifact {
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn function(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// `cargo`, as whoever runs this has it.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_path_buf()
}

/// Builds the test programs of every package, and lists those with tests that are named after statements.
///
/// # Errors
/// What does not build or does not list.
pub(crate) fn all() -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for (package, flags) in PACKAGES {
        let mut build = cargo();
        build
            .args([
                "test",
                "--no-run",
                "--quiet",
                "--message-format=json",
                "-p",
                package,
            ])
            .args(flags)
            .current_dir(repository())
            .stderr(Stdio::inherit());
        let built = build.output().context("cargo cannot be run")?;
        ensure!(
            built.status.success(),
            "the tests of `{package}` do not build"
        );
        for line in String::from_utf8_lossy(&built.stdout).lines() {
            // Other messages have other members.
            let Ok(artifact) = serde_json::from_str::<Artifact>(line) else {
                continue;
            };
            if let Some(program) = program(package, flags, artifact)? {
                programs.push(program);
            }
        }
    }
    programs
        .sort_by(|one, other| (&one.arguments, &one.file).cmp(&(&other.arguments, &other.file)));
    Ok(programs)
}

/// The program that was built; `None` if it has no tests that matter here.
fn program(package: &'static str, flags: &[&str], artifact: Artifact) -> Result<Option<Program>> {
    let Some(executable) = artifact.executable.filter(|_| artifact.profile.test) else {
        return Ok(None);
    };
    let target = artifact.target;
    let which = match target.kind.first().map(String::as_str) {
        Some("test") => vec!["--test".to_owned(), target.name],
        Some("bin") => vec!["--bin".to_owned(), target.name],
        _ => vec!["--lib".to_owned()],
    };
    let shown = executable.display().to_string();
    let listed = Command::new(&executable)
        .args(["--list", "--format", "terse"])
        .output()
        .with_context(|| shown.clone())?;
    ensure!(listed.status.success(), "{shown} does not list its tests");
    let mut tests = Vec::new();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some(name) = line.strip_suffix(": test") else {
            continue;
        };
        let numbers = numbers(name);
        if !numbers.is_empty() {
            let source = source(&target.src_path, name)
                .with_context(|| format!("{name} of {}", target.src_path.display()))?;
            tests.push(Test {
                name: name.to_owned(),
                numbers,
                source,
            });
        }
    }
    tests.sort_by(|one, other| one.name.cmp(&other.name));
    let mut arguments = vec!["-p".to_owned(), package.to_owned()];
    arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    arguments.extend(which);
    let file = executable.file_name().unwrap_or_default();
    let file = file.to_string_lossy().into_owned();
    Ok((!tests.is_empty()).then_some(Program {
        arguments,
        file,
        tests,
    }))
}

/// The file that has this test of the program with this root: the module's own, or that of one around it.
fn source(root: &Path, test: &str) -> Result<String> {
    let modules: Vec<_> = test.split("::").collect();
    let (name, modules) = modules.split_last().context("it has no name")?;
    let folder = root.parent().context("its root has no folder")?;
    let defines = format!("fn {name}(");
    let has = |file: &Path| fs::read_to_string(file).is_ok_and(|text| text.contains(&defines));
    let mut places: Vec<PathBuf> = Vec::new();
    for depth in (1..=modules.len()).rev() {
        let module: PathBuf = modules.iter().take(depth).collect();
        let module = folder.join(module);
        places.push(module.with_extension("rs"));
        places.push(module.join("mod.rs"));
    }
    places.push(root.to_path_buf());
    let found = places.iter().find(|place| has(place));
    let found = found.with_context(|| format!("no file has `{defines}`"))?;
    let inside = found.strip_prefix(repository())?;
    Ok(inside.to_string_lossy().replace('\\', "/"))
}
