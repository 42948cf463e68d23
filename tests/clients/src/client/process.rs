//! A client in a language of its own: it reads what to send, one JSON object a line, and writes what it was told.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::ask::{Ask, Told};

/// Where libraries look for a proxy; nothing here goes through one.
pub(super) const PROXIES: [&str; 6] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// The process. Killed when it goes out of scope.
#[derive(Debug)]
pub(super) struct Process {
    _child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(super) fn start(command: Command) -> Result<Self> {
        let mut command = tokio::process::Command::from(command);
        for name in PROXIES {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        let to = child.stdin.take().context("its input")?;
        let from = child.stdout.take().context("its output")?;
        Ok(Self {
            _child: child,
            to,
            from: BufReader::new(from).lines(),
        })
    }

    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<Told> {
        let line = serde_json::to_string(ask)? + "\n";
        self.to.write_all(line.as_bytes()).await?;
        let told = self.from.next_line().await?.context("it ended")?;
        serde_json::from_str(&told).with_context(|| told)
    }
}
