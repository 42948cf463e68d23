//! A headless Chromium, driven by its own protocol over a pipe (`--remote-debugging-pipe`): JSON messages, a NUL behind each.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long one command may take.
const ANSWER: Duration = Duration::from_secs(30);

/// A browser with one page. Killed when it goes out of scope.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    commands: File,
    answers: Receiver<Value>,
    sent: u64,
    session: Option<String>,
    _folder: TempDir,
}

impl Browser {
    /// Whether there is one on this machine.
    #[must_use]
    pub fn is_there() -> bool {
        let version = Command::new("chromium").arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    }

    /// Starts it, with or without scripts on its pages.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn start(scripts: bool) -> Result<Self> {
        let folder = TempDir::with_prefix("tidegate-e2e-browser-")?;
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        for pipe in [&to, &from] {
            let made = Command::new("mkfifo").arg(pipe).status()?;
            ensure!(made.success(), "mkfifo: {made}");
        }
        // Open for both, so that nobody waits for the other side.
        let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
        let (commands, mut told) = (open(&to)?, open(&from)?);
        let child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<\"$to\" 4>\"$from\"", "sh"])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--no-proxy-server",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .env("to", &to)
            .env("from", &from)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("chromium")?;
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut rest, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(count @ 1..) = told.read(&mut chunk) {
                rest.extend_from_slice(chunk.get(..count).unwrap_or_default());
                while let Some(end) = rest.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = rest.drain(..=end).collect();
                    let message = message.split_last().map_or(&[][..], |(_, message)| message);
                    let told = serde_json::from_slice(message).unwrap_or_default();
                    if sender.send(told).is_err() {
                        return;
                    }
                }
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            sent: 0,
            session: None,
            _folder: folder,
        };
        let page = browser.command("Target.createTarget", json!({"url": "about:blank"}))?;
        let page = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.command("Target.attachToTarget", page)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        if !scripts {
            browser.command(
                "Emulation.setScriptExecutionDisabled",
                json!({"value": true}),
            )?;
        }
        Ok(browser)
    }

    /// Opens a page, and waits until it is there.
    ///
    /// # Errors
    ///
    /// It does not come.
    pub fn open(&mut self, url: &str) -> Result<()> {
        let opened = self.command("Page.navigate", json!({"url": url}))?;
        ensure!(opened.get("errorText").is_none(), "{url}: {opened}");
        self.until("document.readyState == 'complete'")?;
        Ok(())
    }

    /// What an expression is worth on the page, as the page's own tools would say it.
    ///
    /// # Errors
    ///
    /// It throws.
    pub fn value(&mut self, expression: &str) -> Result<Value> {
        let asked = json!({"expression": expression, "returnByValue": true});
        let told = self.command("Runtime.evaluate", asked)?;
        ensure!(
            told.get("exceptionDetails").is_none(),
            "{expression}: {told}"
        );
        Ok(told["result"]["value"].clone())
    }

    /// The text that a person sees.
    ///
    /// # Errors
    ///
    /// There is no page.
    pub fn text(&mut self) -> Result<String> {
        let text = self.value("document.body.innerText")?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    ///
    /// It is not within half a minute.
    pub fn until(&mut self, expression: &str) -> Result<()> {
        let end = Instant::now() + ANSWER;
        while self.value(expression).ok() != Some(Value::Bool(true)) {
            if Instant::now() > end {
                bail!("not within {ANSWER:?}: {expression}\n{}", self.text()?);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn command(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.sent += 1;
        let id = self.sent;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes())?;
        loop {
            let told = self
                .answers
                .recv_timeout(ANSWER)
                .with_context(|| method.to_owned())?;
            if told["id"] == id {
                ensure!(told.get("error").is_none(), "{method}: {told}");
                return Ok(told["result"].clone());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.command("Browser.close", json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
