//! A cache and all that stands around it.

use std::fs;
use std::net::SocketAddr;

use http::Method;
use serde_json::{Value, json};
use tidegate_e2e::cache::{self, Nginx, Varnish};
use tidegate_e2e::client::Call;
use tidegate_e2e::envoy::{Builder, Cache};
use tidegate_e2e::{Answer, Client, Envoy, Origin, repo};

use crate::{SAY, lines};

/// A kind of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Envoy's `cache_v2`.
    V2,
    /// Envoy's older `cache`.
    V1,
    /// Varnish, with an Envoy at the application.
    Varnish,
    /// Varnish, with nothing between it and the application.
    NoSidecar,
    /// nginx, with an Envoy at the application.
    Nginx,
}

impl Kind {
    pub(crate) const ENVOYS: [Self; 2] = [Self::V2, Self::V1];

    /// How this cache is told whose copy a request is for.
    pub(crate) const fn by(self) -> &'static str {
        match self {
            Self::V2 | Self::V1 => "path",
            Self::Varnish | Self::NoSidecar | Self::Nginx => "header",
        }
    }

    /// Whether it is missing here.
    pub(crate) fn skipped(self) -> bool {
        match self {
            Self::V2 | Self::V1 => false,
            Self::Varnish | Self::NoSidecar => cache::skipped(Varnish::PROGRAM),
            Self::Nginx => cache::skipped(Nginx::PROGRAM),
        }
    }
}

/// The server between two Envoys; killed when it goes out of scope.
#[derive(Debug)]
enum Server {
    Varnish(Varnish),
    Nginx(Nginx),
}

/// What is to be set up.
#[derive(Debug)]
pub(crate) struct Setup {
    kind: Kind,
    policy: Value,
    gate: Builder,
    wrong: Vec<(&'static str, &'static str)>,
    role: bool,
}

/// Each account has copies of its own of `/mine/*`, and all share those of `/public/*`.
pub(crate) fn policy(kind: Kind) -> Value {
    with(kind, json!({"scope": ["account"]}))
}

/// The same, with this said of copies of `/mine/*`; how the cache is told is added.
pub(crate) fn with(kind: Kind, mut mine: Value) -> Value {
    mine["by"] = json!(kind.by());
    json!({
        "policy": "caching", "version": "1",
        "identity": {"account": [
            {"jwt": "sub"}, {"header": "x-api-key", "secret": true}, {"cookie": "sid", "secret": true}, {"san": "uri"},
        ]},
        "routes": [
            {"name": "mine", "match": {"path": "/mine/*"}, "cache": mine},
            {"name": "public", "match": {"path": "/public/*"}, "cache": {"scope": "public"}},
        ],
    })
}

impl Setup {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            policy: policy(kind),
            gate: Envoy::builder(),
            wrong: Vec::new(),
            role: true,
        }
    }

    pub(crate) fn policy(mut self, policy: Value) -> Self {
        self.policy = policy;
        self
    }

    /// Something more about the Envoy with the gate.
    pub(crate) fn gate(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.gate = change(self.gate);
        self
    }

    /// The configuration of the cache has `wrong` where it should have `right`.
    pub(crate) fn wrong(mut self, right: &'static str, wrong: &'static str) -> Self {
        self.wrong.push((right, wrong));
        self
    }

    /// The role `origin` is forgotten.
    pub(crate) const fn without_role(mut self) -> Self {
        self.role = false;
        self
    }

    pub(crate) async fn start(self) -> Stand {
        let origin = Origin::start().await.unwrap();
        let application = origin.address();
        let gate = self
            .gate
            .policy(&self.policy)
            .environment("TIDEGATE_SCOPE_KEY", "a key for tests");
        let (sidecar, server, gate) = match self.kind {
            Kind::V2 | Kind::V1 => {
                let cache = if self.kind == Kind::V2 {
                    Cache::V2
                } else {
                    Cache::V1
                };
                let gate = gate.origin_at(application).cache(cache);
                (
                    None,
                    None,
                    if self.role { gate.origin_role() } else { gate },
                )
            }
            Kind::NoSidecar => {
                let server = server(self.kind, application, &self.wrong).await;
                let gate = gate.origin_at(server.address());
                (None, Some(server), gate)
            }
            Kind::Varnish | Kind::Nginx => {
                // As origin.yaml has it: the gate has judged paths.
                let sidecar = Envoy::builder().origin_at(application).as_sent();
                let sidecar = if self.role {
                    sidecar.policy(&self.policy).root_id("origin")
                } else {
                    sidecar
                };
                let sidecar = sidecar.start().await.unwrap();
                let address = SocketAddr::from(([127, 0, 0, 1], sidecar.port("plain")));
                let server = server(self.kind, address, &self.wrong).await;
                let gate = gate.origin_at(server.address());
                (Some(sidecar), Some(server), gate)
            }
        };
        Stand {
            gate: gate.start().await.unwrap(),
            origin,
            sidecar,
            server,
        }
    }
}

impl Server {
    const fn address(&self) -> SocketAddr {
        match self {
            Self::Varnish(varnish) => varnish.address(),
            Self::Nginx(nginx) => nginx.address(),
        }
    }
}

/// The server with the configuration that is there to copy, but for what is wrong on purpose.
async fn server(kind: Kind, behind: SocketAddr, wrong: &[(&str, &str)]) -> Server {
    let port = behind.port();
    let (file, from, to) = match kind {
        Kind::Nginx => (
            "nginx/nginx.conf",
            "server 127.0.0.1:10001;",
            format!("server {behind};"),
        ),
        Kind::NoSidecar => (
            "varnish/no-sidecar.vcl",
            ".port = \"8080\"",
            format!(".port = \"{port}\""),
        ),
        _ => (
            "varnish/default.vcl",
            ".port = \"10001\"",
            format!(".port = \"{port}\""),
        ),
    };
    let mut text = fs::read_to_string(repo().join("envoy").join(file)).unwrap();
    let placing = [(from, to.as_str())];
    for (right, wrong) in placing.iter().chain(wrong) {
        assert!(text.contains(right), "{file} has no `{right}`");
        text = text.replace(right, wrong);
    }
    match kind {
        Kind::Nginx => Server::Nginx(Nginx::start(&text).await.unwrap()),
        _ => Server::Varnish(Varnish::start(&text).await.unwrap()),
    }
}

/// A cache and all that stands around it, running.
#[derive(Debug)]
pub(crate) struct Stand {
    pub(crate) gate: Envoy,
    pub(crate) origin: Origin,
    pub(crate) sidecar: Option<Envoy>,
    server: Option<Server>,
}

impl Stand {
    /// The server that is the cache is gone; whether there was one.
    pub(crate) fn lose_server(&mut self) -> bool {
        self.server.take().is_some()
    }

    /// The application is gone, and what stands before it is there.
    pub(crate) async fn without_origin(mut self) -> Self {
        self.origin = Origin::start().await.unwrap();
        self
    }

    /// Begins a request of `caller`, who is known by an API key; nobody has none.
    pub(crate) fn call(&self, method: Method, path: &str, caller: &str) -> Call {
        let call = Client::h1().call(method, self.gate.at(path));
        if caller.is_empty() {
            return call;
        }
        call.header("x-api-key", caller)
    }

    /// The answer to a GET, to which the origin adds header lines.
    pub(crate) async fn get(&self, path: &str, caller: &str, say: &[(&str, &str)]) -> Answer {
        let call = self.call(Method::GET, path, caller);
        call.header(SAY, lines(say)).send().await.unwrap()
    }

    /// How many responses were withheld.
    pub(crate) async fn mismatches(&self) -> u64 {
        mismatches(&self.gate).await
    }
}

/// How many responses this Envoy withheld.
pub(crate) async fn mismatches(gate: &Envoy) -> u64 {
    let text = gate.prometheus().await.unwrap();
    // Before Envoy 1.40 a VM that both roles share counts under the name of the cluster, where it was mounted first.
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && line.contains("tidegate_seal_mismatches"));
    let (_, count) = lines.next().unwrap().rsplit_once(' ').unwrap();
    assert_eq!(lines.next(), None);
    count.parse().unwrap()
}
