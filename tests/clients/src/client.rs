//! The clients, each with a setting.

mod browser;
mod command;
mod process;
mod rust;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::time::timeout;

pub(crate) use browser::Page;
use command::curl;
use process::Process;

use crate::ask::{Ask, Told};
use crate::install::Installed;

/// How long one request of an application may take, all attempts of it together.
const LIMIT: Duration = Duration::from_secs(60);

/// How a library writes a request of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As it is told.
    Any,
    /// As Stripe's API wants it.
    Stripe,
    /// As AWS Lambda wants it.
    Lambda,
}

/// A client with a setting.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its name in paths and accounts.
    pub(crate) id: &'static str,
    /// Its name for people, with the version that is pinned here.
    pub(crate) name: String,
    /// How it is set up, for people.
    pub(crate) setting: &'static str,
    pub(crate) dialect: Dialect,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Process(Box<Process>),
    Rust(rust::Sender),
    Curl,
    /// Calls this function of the page.
    Page(Page, &'static str),
}

impl Client {
    /// Sends a request as an application does, and waits for what it is told.
    pub(crate) async fn ask(&mut self, ask: &Ask) -> Result<Told> {
        let told = async {
            match &mut self.kind {
                Kind::Process(process) => process.ask(ask).await,
                Kind::Rust(sender) => sender.ask(ask).await,
                Kind::Curl => curl(ask).await,
                Kind::Page(page, function) => page.ask(function, ask).await,
            }
        };
        timeout(LIMIT, told)
            .await
            .unwrap_or_else(|late| Err(late.into()))
            .with_context(|| format!("{}: {} {}", self.id, ask.method, ask.url))
    }

    /// Where it sends this request, below `base`.
    pub(crate) fn path(&self, base: &str, method: &str) -> String {
        let path = match (self.dialect, method) {
            (Dialect::Any, _) => "",
            (Dialect::Stripe, "GET") => "/v1/payment_intents/pi_1",
            (Dialect::Stripe, _) => "/v1/payment_intents",
            (Dialect::Lambda, "GET") => "/2016-08-19/account-settings",
            (Dialect::Lambda, _) => "/2015-03-31/functions/f/invocations",
        };
        format!("/{base}/{}{path}", self.id)
    }
}

/// All of them, started.
pub(crate) fn all(installed: &Installed, page: &Page) -> Result<Vec<Client>> {
    let versions = Versions::read()?;
    let python = |setting: &str| {
        let mut command = Command::new(&installed.python);
        command.arg(crate::install::folder().join("python/client.py"));
        command.arg(setting);
        Process::start(command).map(Box::new).map(Kind::Process)
    };
    let node = |setting: &str| {
        let mut command = Command::new("node");
        command.arg(&installed.node).arg(setting);
        Process::start(command).map(Box::new).map(Kind::Process)
    };
    let go = |setting: &str| {
        let mut command = Command::new(&installed.go);
        command.arg(setting);
        Process::start(command).map(Box::new).map(Kind::Process)
    };
    let any = |id, name: &str, setting, kind| Client {
        id,
        name: name.to_owned(),
        setting,
        dialect: Dialect::Any,
        kind,
    };
    let requests = versions.python("requests");
    let urllib3 = versions.python("urllib3");
    let axios = format!(
        "{} with {}",
        versions.node("axios"),
        versions.node("axios-retry")
    );
    let got = versions.node("got");
    let botocore = versions.python("botocore");
    let aws = |id, setting| -> Result<Client> {
        Ok(Client {
            dialect: Dialect::Lambda,
            ..any(id, &botocore, setting, python(id)?)
        })
    };
    let reqwest = versions.rust("reqwest-retry");
    Ok(vec![
        any("requests", &requests, "as it is", python("requests")?),
        any(
            "requests-retry",
            &requests,
            "`HTTPAdapter(max_retries=Retry(total=4, backoff_factor=0.5, allowed_methods=None, status_forcelist=[409, 429, 503], raise_on_status=False))`",
            python("requests-retry")?,
        ),
        any("urllib3", &urllib3, "as it is", python("urllib3")?),
        any(
            "axios-retry",
            &axios,
            "`axiosRetry(client)`",
            node("axios-retry")?,
        ),
        any(
            "axios-retry-post",
            &axios,
            "`{retries: 4, retryCondition, retryDelay: exponentialDelay}` with the condition below",
            node("axios-retry-post")?,
        ),
        any("got", &got, "as it is", node("got")?),
        any(
            "got-post",
            &got,
            "`retry: {limit: 4, methods: ['GET', 'PUT', 'POST'], statusCodes: [409, 429, 503]}`",
            node("got-post")?,
        ),
        any(
            "retryablehttp",
            "go-retryablehttp of Debian",
            "`NewClient()`",
            go("retryablehttp")?,
        ),
        any(
            "retryablehttp-409",
            "go-retryablehttp of Debian",
            "`CheckRetry` and `Backoff` below",
            go("retryablehttp-409")?,
        ),
        any(
            "reqwest-retry",
            &reqwest,
            "`ExponentialBackoff::builder().build_with_max_retries(4)`",
            Kind::Rust(rust::Sender::backoff()?),
        ),
        any(
            "reqwest-wait",
            &versions.rust("reqwest-middleware"),
            "the middleware below",
            Kind::Rust(rust::Sender::waits()?),
        ),
        Client {
            dialect: Dialect::Stripe,
            ..any(
                "stripe",
                &versions.python("stripe"),
                "as it is",
                python("stripe")?,
            )
        },
        aws("botocore-legacy", "`retries={'mode': 'legacy'}`")?,
        aws("botocore-standard", "`retries={'mode': 'standard'}`")?,
        aws("botocore-adaptive", "`retries={'mode': 'adaptive'}`")?,
        any("curl", "curl", "`--retry 4`", Kind::Curl),
        any(
            "fetch",
            "`fetch` of Chromium",
            "as it is",
            Kind::Page(page.clone(), "fetch"),
        ),
        any(
            "fetch-loop",
            "`fetch` of Chromium",
            "in the loop below",
            Kind::Page(page.clone(), "send"),
        ),
    ])
}

/// The versions that are pinned.
struct Versions {
    python: String,
    node: serde_json::Value,
    rust: String,
}

impl Versions {
    fn read() -> Result<Self> {
        let read = |file: &str| {
            let file = tidegate_e2e::repo().join(file);
            std::fs::read_to_string(&file).with_context(|| file.display().to_string())
        };
        Ok(Self {
            python: read("tests/clients/python/requirements.txt")?,
            node: serde_json::from_str(&read("tests/clients/node/package.json")?)?,
            rust: read("Cargo.lock")?,
        })
    }

    fn python(&self, name: &str) -> String {
        let mut pins = self.python.lines().filter_map(|line| line.split_once("=="));
        let version = pins
            .find(|(own, _)| *own == name)
            .map(|(_, version)| version);
        format!("{name} {}", version.unwrap_or("?"))
    }

    fn node(&self, name: &str) -> String {
        let version = self.node["dependencies"][name].as_str();
        format!("{name} {}", version.unwrap_or("?"))
    }

    fn rust(&self, name: &str) -> String {
        let after = self
            .rust
            .split_once(&format!("name = \"{name}\"\nversion = \""));
        let version = after.and_then(|(_, rest)| rest.split('"').next());
        format!("{name} {}", version.unwrap_or("?"))
    }
}
