//! What is compared.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tidegate_e2e::envoy::{Builder, limiters};
use tidegate_e2e::{Client, Envoy, repo};

use crate::hits;
use crate::keys;
use crate::policies;
use crate::requests::{Asks, Callers};

/// Makes the Envoy of a row.
pub(crate) type Build = fn() -> Result<Builder>;

/// One line of the table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) build: Box<dyn Fn() -> Result<Builder>>,
    pub(crate) callers: Callers,
    pub(crate) status: u16,
}

impl Row {
    /// How many of so many requests are to reach the origin.
    pub(crate) const fn reaching(&self, requests: u32) -> u32 {
        let answered_before = self.kind.is_hit() || matches!(self.kind, Kind::Replay);
        if answered_before || self.status != 200 {
            0
        } else {
            requests
        }
    }
}

/// What a line is to the closing words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What all others are compared with.
    Bare,
    /// The naive filter.
    Naive,
    /// The policy that the aim is about.
    Whole,
    /// Tidegate refuses.
    Refusal,
    /// What all other hits are compared with.
    BareHit,
    /// A hit behind a gate that does not speak of caches.
    UnscopedHit,
    /// A hit of one's own copy.
    ScopedHit,
    /// Another hit.
    Hit,
    /// What all other requests with a key are compared with.
    BareKey,
    /// A request with a new key whose call is made inline.
    Inline,
    /// A request with a new key whose call is detached.
    Detached,
    /// A request with a key whose answer is stored.
    Replay,
    /// A request whose key another one had.
    Reused,
    /// A request with a key that the policy does not ask for.
    Unkeyed,
    /// Nothing that they speak of.
    Other,
}

impl Kind {
    /// Whether a cache answers, and not the origin.
    pub(crate) const fn is_hit(self) -> bool {
        matches!(
            self,
            Self::BareHit | Self::UnscopedHit | Self::ScopedHit | Self::Hit
        )
    }

    /// Whether the module keeps a record of it.
    pub(crate) const fn has_record(self) -> bool {
        matches!(
            self,
            Self::Inline | Self::Detached | Self::Replay | Self::Reused
        )
    }

    /// Whether it has a body and an idempotency key, whoever reads that.
    pub(crate) const fn has_key(self) -> bool {
        self.has_record() || matches!(self, Self::BareKey | Self::Unkeyed)
    }

    /// Whether others are compared with it.
    pub(crate) const fn is_bare(self) -> bool {
        matches!(self, Self::Bare | Self::BareHit | Self::BareKey)
    }
}

/// So many that each has a bucket of its own, and few enough that each comes back.
const MANY: Callers = Callers {
    tenants: 10,
    accounts: 1_000,
    asks: Asks::FirstPage,
};

/// One account, over and over.
const ONE: Callers = Callers {
    tenants: 1,
    accounts: 1,
    asks: Asks::FirstPage,
};

/// More accounts of one tenant than a worker remembers refusals of.
const ROTATING: Callers = Callers {
    tenants: 1,
    accounts: 10_000,
    asks: Asks::FirstPage,
};

/// All rows; the first is the bare one. Those of hits and of keys are the last.
pub(crate) fn all(detail: bool) -> Vec<Row> {
    let row = |name: &str, kind, build: Build| Row {
        name: name.to_owned(),
        kind,
        build: Box::new(build),
        callers: MANY,
        status: 200,
    };
    let refusal = |name: &str, kind, build: Build, callers| Row {
        name: name.to_owned(),
        kind,
        build: Box::new(build),
        callers,
        status: 429,
    };
    let mut rows = vec![
        row("bare", Kind::Bare, || Ok(Envoy::builder())),
        row("native `local_ratelimit`, per account", Kind::Other, || {
            Ok(Envoy::builder().filter_before(local_ratelimit(1_000_000, 1_000)))
        }),
        row("Lua that reads one header", Kind::Other, || {
            Ok(Envoy::builder().filter_before(lua()))
        }),
        row("wasm that does nothing", Kind::Other, || {
            module("tidegate_bench_noop")
        }),
        row("wasm, one naive bucket per account", Kind::Naive, || {
            module("tidegate_bench_naive")
        }),
        row("wasm that makes Tidegate's calls", Kind::Other, || {
            Ok(module("tidegate_bench_noop")?.policy_text("calls"))
        }),
        row("Tidegate, one limit, no headers", Kind::Other, || {
            tidegate(&policies::account("off"))
        }),
        row("Tidegate, three limits and headers", Kind::Whole, || {
            tidegate(&policies::wide(3, "always"))
        }),
        refusal(
            "native, refusing one account",
            Kind::Other,
            || Ok(Envoy::builder().filter_before(local_ratelimit(1, 1))),
            ONE,
        ),
        refusal(
            "wasm that refuses and says nothing",
            Kind::Other,
            || Ok(module("tidegate_bench_noop")?.policy_text("refuse")),
            ONE,
        ),
        refusal(
            "wasm that makes the calls of a refusal",
            Kind::Other,
            || Ok(module("tidegate_bench_noop")?.policy_text("calls and refuse")),
            ONE,
        ),
        refusal(
            "Tidegate, refusing one account",
            Kind::Refusal,
            || tidegate(&policies::drained_account()),
            ONE,
        ),
        refusal(
            "Tidegate, refusing 10,000 accounts of one drained tenant",
            Kind::Refusal,
            || tidegate(&policies::drained_tenant()),
            ROTATING,
        ),
    ];
    if detail {
        let more: [(&str, Build); 6] = [
            ("detail: no limit", || {
                tidegate(&policies::wide(0, "always"))
            }),
            ("detail: one limit and headers", || {
                tidegate(&policies::account("always"))
            }),
            ("detail: two limits and headers", || {
                tidegate(&policies::wide(2, "always"))
            }),
            ("detail: two limits, no headers", || {
                tidegate(&policies::wide(2, "off"))
            }),
            ("detail: three limits, no headers", || {
                tidegate(&policies::wide(3, "off"))
            }),
            ("detail: three limits in shadow", || {
                let mut policy = policies::wide(3, "always");
                policy["mode"] = json!("shadow");
                tidegate(&policy)
            }),
        ];
        rows.extend(more.map(|(name, build)| row(name, Kind::Other, build)));
    }
    rows.extend(hits::all(detail));
    rows.extend(keys::all());
    rows
}

/// Another build of the module: as the whole policy, and refusing.
pub(crate) fn build(path: &Path) -> [Row; 3] {
    let row = |what, callers, status, policy: fn() -> Value| {
        let module = path.to_owned();
        Row {
            name: format!("`{}`, {what}", path.display()),
            kind: Kind::Other,
            build: Box::new(move || Ok(tidegate(&policy())?.module(&module))),
            callers,
            status,
        }
    };
    let whole = || policies::wide(3, "always");
    [
        row("three limits and headers", MANY, 200, whole),
        row("refusing one account", ONE, 429, policies::drained_account),
        row(
            "refusing 10,000 accounts",
            ROTATING,
            429,
            policies::drained_tenant,
        ),
    ]
}

/// The version of an Envoy that runs.
pub(crate) async fn version(envoy: &Envoy) -> Result<String> {
    let url = format!("{}/server_info", envoy.admin());
    let info = Client::h1().get(url).send().await?.json()?;
    let version = info["version"].as_str().context("`version`")?;
    Ok(version.split('/').nth(1).unwrap_or(version).to_owned())
}

fn tidegate(policy: &Value) -> Result<Builder> {
    Ok(Envoy::builder().policy(policy))
}

/// A filter of this benchmark's own.
pub(crate) fn module(name: &str) -> Result<Builder> {
    let path = repo().join(format!("target/wasm32-wasip1/release/{name}.wasm"));
    ensure!(path.is_file(), "no {}; run `make bench`", path.display());
    Ok(Envoy::builder().module(path).policy_text(""))
}

fn local_ratelimit(burst: u32, accounts: u32) -> Value {
    let bucket = json!({"max_tokens": burst, "tokens_per_fill": burst, "fill_interval": "86400s"});
    limiters::local_ratelimit_by_account(&bucket, 2 * accounts)
}

fn lua() -> Value {
    limiters::lua(
        "function envoy_on_request(handle)\n  local account = handle:headers():get(\"x-account\")\nend\n",
    )
}
