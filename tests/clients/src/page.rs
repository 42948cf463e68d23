//! docs/clients.md: the parts of it that a run makes stand between `<!-- made: NAME -->` and `<!-- end -->`.

use std::fs;

use anyhow::{Context as _, Result, bail};
use tidegate_e2e::repo;

use crate::install::folder;
use crate::report::Report;

const FILE: &str = "docs/clients.md";

/// Code that is shown: its name, its language, and the file in which it stands between `begin: NAME` and `end: NAME`.
const CODE: [(&str, &str, &str); 4] = [
    ("axios", "js", "node/client.js"),
    ("go", "go", "go/main.go"),
    ("wait", "rust", "src/client/rust.rs"),
    ("send", "js", "src/client/send.js"),
];

/// Writes the page anew.
pub(crate) fn update(report: &Report) -> Result<()> {
    let file = repo().join(FILE);
    let text = fs::read_to_string(&file)?;
    fs::write(file, made(&text, report)?)?;
    Ok(())
}

/// Holds the page to what was seen.
///
/// # Errors
///
/// It says otherwise; the error holds the first line that does.
pub(crate) fn check(report: &Report) -> Result<()> {
    let text = fs::read_to_string(repo().join(FILE))?;
    let made = made(&text, report)?;
    let mut lines = text.lines().zip(made.lines());
    if let Some((says, is)) = lines.find(|(says, is)| says != is) {
        bail!(
            "a client does not do what {FILE} says; `make clients CLIENTS=--update` writes it anew\n  it says: {says}\n  it is:   {is}"
        );
    }
    if text.lines().count() != made.lines().count() {
        bail!("{FILE} has other clients; `make clients CLIENTS=--update` writes it anew");
    }
    Ok(())
}

fn made(text: &str, report: &Report) -> Result<String> {
    let mut text = replaced(text, "clients", &report.clients())?;
    text = replaced(&text, "pages", &report.reads())?;
    for (name, language, file) in CODE {
        let file = folder().join(file);
        let source = fs::read_to_string(&file)?;
        let code = between(
            &source,
            &format!("// begin: {name}\n"),
            &format!("// end: {name}\n"),
        );
        let code = code.with_context(|| format!("no `{name}` in {}", file.display()))?;
        text = replaced(&text, name, &format!("```{language}\n{code}```"))?;
    }
    Ok(text)
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end)?.0)
}

fn replaced(text: &str, name: &str, with: &str) -> Result<String> {
    let begin = format!("<!-- made: {name} -->\n");
    let found = text.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once("<!-- end -->")?;
        Some(format!("{before}{begin}{with}\n<!-- end -->{after}"))
    });
    found.with_context(|| format!("{FILE} has no part `{name}`"))
}
