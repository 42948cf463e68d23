//! `fetch` on a page in a headless Chromium.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use tidegate_e2e::Browser;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::ask::{Ask, Told};

/// The loop that waits as it is told; docs/clients.md shows it.
const LOOP: &str = include_str!("send.js");

/// How often the page is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// A page that is open in a browser.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    browser: Arc<Mutex<Browser>>,
    asked: Arc<AtomicU64>,
}

impl Page {
    /// Starts a browser, and opens it.
    pub(crate) async fn open(url: String) -> Result<Self> {
        let browser = spawn_blocking(|| Browser::start(true)).await??;
        let page = Self {
            browser: Arc::new(Mutex::new(browser)),
            asked: Arc::default(),
        };
        page.go(url).await?;
        Ok(page)
    }

    /// Opens another page in its place.
    pub(crate) async fn go(&self, url: String) -> Result<()> {
        self.with(move |browser| {
            browser.open(&url)?;
            browser.value(LOOP)?;
            browser.value("window.told = {}; 0")
        })
        .await?;
        Ok(())
    }

    /// Asks by this function of the page, which is called as `fetch` is.
    pub(super) async fn ask(&self, function: &str, ask: &Ask) -> Result<Told> {
        let lines = ask.lines().into_iter();
        let lines: Map<_, _> = lines
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect();
        let init = json!({"method": ask.method, "headers": lines, "body": ask.body()});
        let url = Value::from(ask.url.as_str());
        let told = self.settled(&format!("{function}({url}, {init})")).await?;
        Ok(serde_json::from_value(told)?)
    }

    /// What the page reads of an answer that it was promised, while others use it as well.
    pub(crate) async fn settled(&self, promise: &str) -> Result<Value> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.value(format!(
            "{promise}.then(
                (answer) => ({{
                    status: answer.status,
                    replayed: answer.headers.get('idempotent-replayed') === 'true',
                    retry_after: answer.headers.get('retry-after'),
                }}),
                (error) => ({{status: null, error: String(error)}}),
            ).then((told) => {{ window.told[{number}] = told }}); 0"
        ))
        .await?;
        loop {
            let told = self.value(format!("window.told[{number}] ?? null")).await?;
            if !told.is_null() {
                return Ok(told);
            }
            sleep(PAUSE).await;
        }
    }

    async fn value(&self, expression: String) -> Result<Value> {
        self.with(move |browser| browser.value(&expression)).await
    }

    async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Browser) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let browser = Arc::clone(&self.browser);
        let acted = spawn_blocking(move || {
            let mut browser = browser.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut browser)
        });
        acted.await?
    }
}
