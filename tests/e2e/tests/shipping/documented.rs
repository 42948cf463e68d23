//! docs/shipping.md: its commands, in its order, in a folder of their own and against a real Envoy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_e2e::{Client, Envoy, Origin, repo, tool};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a block may take: three shares of a canary, each until every worker runs it.
const LONG: Duration = Duration::from_secs(120);

/// A share is held for ten minutes there.
const HOLD: (&str, &str) = ("--hold 10m", "--hold 10s");

/// Between two requests of a connection.
const PAUSE: Duration = Duration::from_millis(5);

/// A part of the page that does something.
#[derive(Debug)]
enum Part {
    /// Commands.
    Shell(String),
    /// Where Envoy is started.
    Start,
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        match line {
            "```sh" => {
                let block = lines.by_ref().take_while(|line| *line != "```");
                parts.push(Part::Shell(block.map(|line| format!("{line}\n")).collect()));
            }
            "<!-- test: Envoy starts here -->" => parts.push(Part::Start),
            _ => {}
        }
    }
    parts
}

/// Runs commands as the page has them.
async fn run(commands: &str, folder: &Path, admin: &str) {
    let tools: PathBuf = tool::path().unwrap().parent().unwrap().into();
    let path = std::env::var("PATH").unwrap_or_default();
    assert!(
        commands.contains(HOLD.0) || !commands.contains("--hold"),
        "{commands}"
    );
    let shell = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &commands.replace(HOLD.0, HOLD.1)])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("TIDEGATE", repo())
        .env("ADMIN", admin)
        .kill_on_drop(true)
        .output();
    let done = timeout(LONG, shell).await.unwrap().unwrap();
    let (out, err) = (&done.stdout, &done.stderr);
    let said = [out, err].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(done.status.success(), "{commands}{}", said.concat());
}

/// Many callers with few requests each, so that there is something to judge a canary by; until it is dropped.
fn callers(url: &str) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for connection in 0..4 {
        let url = url.to_owned();
        callers.spawn(async move {
            let client = Client::h1();
            for number in 0..100_000 {
                let key = format!("{connection}-{}", number / 3);
                let _ = client.get(&url).header("x-api-key", key).send().await;
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    callers
}

#[tokio::test]
async fn every_command_of_the_page_does_what_it_says() {
    let page = std::fs::read_to_string(repo().join("docs/shipping.md")).unwrap();
    let origin = Origin::start().await.unwrap();
    let mut folder = Some(tempfile::tempdir().unwrap());
    let work = folder.as_ref().unwrap().path().to_owned();
    let mut envoy = None;
    let mut asking = None;
    let mut ran = 0;
    for part in parts(&page) {
        match part {
            Part::Shell(commands) => {
                let admin = envoy.as_ref().map(Envoy::admin).unwrap_or_default();
                run(&commands, &work, &admin).await;
                ran += 1;
            }
            Part::Start => {
                Envoy::with_free_ports(&work.join("edge"), &origin).unwrap();
                let started = Envoy::start_shipped(folder.take().unwrap(), "edge");
                let started = started.await.unwrap();
                asking = Some(callers(&started.shipped_at("/")));
                envoy = Some(started);
            }
        }
    }
    assert!(ran >= 12, "only {ran} blocks ran");
    let gate = std::fs::read_to_string(work.join("edge/gate.json")).unwrap();
    assert!(gate.contains("2026-12-01.1"), "{gate}");
    drop(asking);
    drop(envoy);
}
