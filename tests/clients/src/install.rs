//! Brings the clients at the versions that are pinned here, into the ignored folder of the build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tidegate_e2e::{python, repo};

/// Where Debian's packages of Go's libraries lie.
const GOPATH: &str = "/usr/share/gocode";

/// What was installed.
#[derive(Debug)]
pub(crate) struct Installed {
    /// A Python with the packages of `python/requirements.txt`.
    pub(crate) python: PathBuf,
    /// `client.js` beside the packages of `node/package-lock.json`.
    pub(crate) node: PathBuf,
    /// `go/main.go`, built.
    pub(crate) go: PathBuf,
}

impl Installed {
    /// Installs what is not there yet.
    pub(crate) fn all() -> Result<Self> {
        let python = python::python("clients-python", &folder().join("python/requirements.txt"))?;
        Ok(Self {
            python,
            node: node()?,
            go: go()?,
        })
    }
}

/// Where this package lies.
pub(crate) fn folder() -> PathBuf {
    repo().join("tests/clients")
}

fn node() -> Result<PathBuf> {
    let (from, to) = (folder().join("node"), repo().join("target/clients-node"));
    fs::create_dir_all(&to)?;
    let script = to.join("client.js");
    fs::copy(from.join("client.js"), &script)?;
    let lock = read(&from.join("package-lock.json"))?;
    let made = to.join("made");
    if fs::read_to_string(&made).is_ok_and(|made| made == lock) {
        return Ok(script);
    }
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(file), to.join(file))?;
    }
    python::run(Command::new("npm").arg("ci").current_dir(&to))?;
    fs::write(&made, lock)?;
    Ok(script)
}

fn go() -> Result<PathBuf> {
    let client = repo().join("target/clients-go/client");
    let folder = folder().join("go");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&client).arg(".");
    build.current_dir(folder);
    // Go's own way to find libraries that were installed by hand; it asks no network.
    build.env("GO111MODULE", "off").env("GOPATH", GOPATH);
    build.env("GOCACHE", repo().join("target/clients-go/cache"));
    python::run(&mut build)?;
    Ok(client)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}
