//! The applications and the Envoys before them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tidegate_e2e::bench;
use tidegate_e2e::{Client, Envoy, repo};

const FOLDER: &str = "tests/bench/peers/express";

/// What keeps duplicates apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing.
    Nothing,
    /// Middleware of the application.
    Middleware,
    /// Tidegate, whose call is the client's own.
    Inline,
    /// Tidegate, which makes the call itself.
    Detached,
}

/// An application and the Envoy before it.
pub(crate) struct Stand {
    pub(crate) name: &'static str,
    pub(crate) guard: Guard,
    pub(crate) envoy: Envoy,
    app: App,
    /// The session that a client has, which one of the middlewares wants.
    pub(crate) cookie: String,
}

impl Stand {
    /// How often the charge of this name was executed; asked of the application itself.
    pub(crate) async fn executions(&self, charge: &str) -> Result<u64> {
        let url = format!("http://{}/executions/{charge}", self.app.address);
        let answer = Client::h1().get(url).send().await?;
        Ok(answer.text().trim().parse()?)
    }
}

/// All of them, up.
pub(crate) async fn all() -> Result<Vec<Stand>> {
    let express = express()?;
    let rows: [(&str, bool, Guard); 8] = [
        ("express alone", true, Guard::Nothing),
        (
            "express with `express-idempotency`",
            true,
            Guard::Middleware,
        ),
        ("express behind Tidegate, inline", true, Guard::Inline),
        ("express behind Tidegate, detached", true, Guard::Detached),
        ("axum alone", false, Guard::Nothing),
        ("axum with `axum-idempotent`", false, Guard::Middleware),
        ("axum behind Tidegate, inline", false, Guard::Inline),
        ("axum behind Tidegate, detached", false, Guard::Detached),
    ];
    let mut stands = Vec::new();
    for (name, is_express, guard) in rows {
        let mut command = if is_express {
            let mut node = Command::new("node");
            node.arg("app.js").current_dir(&express);
            node
        } else {
            Command::new(axum()?)
        };
        if guard == Guard::Middleware {
            command.arg("idempotent");
        }
        let app = App::start(command).context(name)?;
        let builder = Envoy::builder().without_access_log().origin_at(app.address);
        let builder = match guard {
            Guard::Nothing | Guard::Middleware => builder,
            Guard::Inline => builder.policy(&policy("inline")),
            Guard::Detached => builder.policy(&policy("detached")),
        };
        let envoy = builder.start().await.context(name)?;
        bench::pin(envoy.pid(), bench::PROXY)?;
        let session = Client::h1().get(envoy.at("/session")).send().await?;
        let cookie = session.header("set-cookie").unwrap_or("none=none");
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        stands.push(Stand {
            name,
            guard,
            envoy,
            app,
            cookie,
        });
    }
    Ok(stands)
}

/// The version of a package that the application in JavaScript is made of.
pub(crate) fn express_version(package: &str) -> Result<String> {
    let text = fs::read_to_string(repo().join(FOLDER).join("package.json"))?;
    let manifest: Value = serde_json::from_str(&text)?;
    let version = manifest["dependencies"][package].as_str();
    Ok(version.context("a version")?.to_owned())
}

fn policy(execution: &str) -> Value {
    json!({
        "policy": "peers-once", "version": "1",
        "identity": {"account": [{"header": "x-account"}]},
        "routes": [{
            "name": "charges", "match": {"methods": ["POST"], "path": "/charges"},
            "idempotency": {"key": "required", "ttl": "24h", "execution": execution},
        }],
    })
}

/// An application; killed when it goes out of scope.
struct App {
    child: Child,
    address: SocketAddr,
}

impl App {
    /// Starts it and reads where it listens, which is the first line that it says.
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let output = child.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse();
        let address = address.with_context(|| format!("it listens at `{line}`"))?;
        Ok(Self { child, address })
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Installs the application in JavaScript under target/, as its lock file says, unless that is there; returns its folder.
fn express() -> Result<PathBuf> {
    let from = repo().join(FOLDER);
    let folder = repo().join("target/bench-peers/express");
    fs::create_dir_all(&folder)?;
    let same = |name: &str| -> Result<bool> {
        let there = fs::read(folder.join(name)).unwrap_or_default();
        Ok(there == fs::read(from.join(name))?)
    };
    fs::copy(from.join("app.js"), folder.join("app.js"))?;
    if same("package-lock.json")? && folder.join("node_modules/express").is_dir() {
        return Ok(folder);
    }
    fs::copy(from.join("package.json"), folder.join("package.json"))?;
    let lock = fs::read(from.join("package-lock.json"))?;
    fs::write(folder.join("package-lock.json"), lock)?;
    let done = Command::new("npm")
        .args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
        ])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .status()
        .context("npm is not installed")?;
    ensure!(done.success(), "npm cannot install the application");
    Ok(folder)
}

/// The application in Rust, which was built beside this program.
fn axum() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let app = here.parent().map(|folder: &Path| folder.join("axum-app"));
    let app = app.context("a folder")?;
    ensure!(
        app.is_file(),
        "no {}; run `make bench-peers`",
        app.display()
    );
    Ok(app)
}
