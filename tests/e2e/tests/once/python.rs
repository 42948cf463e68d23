//! Clients that come as Python packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tidegate_e2e::{python as packages, repo};

/// A Python with the packages, made once and kept in the ignored folder of the build; else why there is none.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let requirements = folder().join("requirements.txt");
    packages::python("e2e-python", &requirements).map_err(|error| format!("{error:#}"))
});

/// This one.
fn folder() -> PathBuf {
    repo().join("tests/e2e/tests/once")
}

/// The Python with the packages. Without it a test has to return without having tested anything; it says so, and fails
/// where `CI` is set.
#[allow(
    clippy::print_stdout,
    reason = "a test is skipped where people see it, and never where nobody looks"
)]
pub(crate) fn python() -> Option<&'static Path> {
    match &*PYTHON {
        Ok(python) => Some(python),
        Err(why) if std::env::var_os("CI").is_some_and(|ci| !ci.is_empty()) => panic!("{why}"),
        Err(why) => {
            println!("skipped: no Python with the packages: {why}");
            None
        }
    }
}

/// What a script beside this file prints, given these arguments.
pub(crate) async fn say(python: &'static Path, script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(python);
    command.arg(folder().join(script)).args(arguments);
    let said = tokio::task::spawn_blocking(move || packages::run(&mut command));
    said.await.unwrap().unwrap()
}
