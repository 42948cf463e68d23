//! What was compared.

use std::process::Command;

use anyhow::{Context, Result};
use tidegate_e2e::{Client, Envoy};

use crate::once;

/// The versions of all that is compared, in one line.
pub(crate) async fn line() -> Result<String> {
    let envoy = Envoy::builder().start().await?;
    let url = format!("{}/server_info", envoy.admin());
    let info = Client::h1().get(url).send().await?.json()?;
    let version = info["version"].as_str().context("`version`")?;
    let envoy = version.split('/').nth(1).unwrap_or(version);
    Ok(format!(
        "Envoy {envoy}, nginx {}, HAProxy {}, node {}, express {}, express-idempotency {}, {}.",
        said("nginx", &["-v"], 3, '/')?,
        said("haproxy", &["-v"], 2, ' ')?,
        said("node", &["--version"], 0, ' ')?,
        once::express_version("express")?,
        once::express_version("express-idempotency")?,
        axum()?,
    ))
}

/// The word of this number in the first line of what a program says of itself.
fn said(program: &str, arguments: &[&str], word: usize, between: char) -> Result<String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let said = Command::new(program)
        .env("PATH", path)
        .args(arguments)
        .output()
        .with_context(|| format!("{program} is not installed"))?;
    let text = [said.stdout, said.stderr].concat();
    let text = String::from_utf8_lossy(&text).replace(between, " ");
    let word = text.split_whitespace().nth(word);
    Ok(word.context("a version")?.to_owned())
}

/// The versions that this program was built with.
fn axum() -> Result<String> {
    let lock = include_str!("../../../../Cargo.lock");
    let version = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        rest.split('"').next()
    };
    let names = ["axum", "axum-idempotent"].map(|name| Some(format!("{name} {}", version(name)?)));
    let names: Option<Vec<String>> = names.into_iter().collect();
    Ok(names.context("no axum in Cargo.lock")?.join(", "))
}
