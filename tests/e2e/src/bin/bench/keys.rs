//! What is compared of idempotency keys: one POST through an Envoy without the module and with it, new, known, and refused.
//!
//! Every row gets the same requests, with a key in each. New keys are kept for a second: so the store holds what it would
//! at that rate, and however long the benchmark runs, it does not fill.

use anyhow::{Context, Result, ensure};
use tidegate_e2e::Envoy;

use crate::policies;
use crate::requests::{Asks, Callers};
use crate::rows::{Build, Kind, Row};

/// How long a key that is there for one request is kept.
const BRIEF: &str = "1s";

/// Longer than any run.
const LASTING: &str = "24h";

/// All rows; the first is the one without the module.
pub(crate) fn all() -> Vec<Row> {
    let rows: [(&str, Kind, Asks, u16, Build); 6] = [
        ("bare, POST", Kind::BareKey, Asks::NewKey, 200, || {
            Ok(Envoy::builder())
        }),
        (
            "POST, Tidegate without limit or record",
            Kind::Unkeyed,
            Asks::NewKey,
            200,
            || Ok(Envoy::builder().policy(&policies::unkeyed())),
        ),
        (
            "POST, Tidegate, a new key, inline",
            Kind::Inline,
            Asks::NewKey,
            200,
            || Ok(Envoy::builder().policy(&policies::keyed("inline", BRIEF))),
        ),
        (
            "POST, Tidegate, a new key, detached",
            Kind::Detached,
            Asks::NewKey,
            200,
            || Ok(Envoy::builder().policy(&policies::keyed("detached", BRIEF))),
        ),
        (
            "POST, Tidegate, a replay",
            Kind::Replay,
            Asks::OwnKey,
            200,
            || Ok(Envoy::builder().policy(&policies::keyed("inline", LASTING))),
        ),
        (
            "POST, Tidegate, refusing a key of another request",
            Kind::Reused,
            Asks::OtherBody,
            422,
            || Ok(Envoy::builder().policy(&policies::keyed("inline", LASTING))),
        ),
    ];
    let row = |(name, kind, asks, status, build): (&str, Kind, Asks, u16, Build)| Row {
        name: name.to_owned(),
        kind,
        build: Box::new(build),
        callers: Callers {
            tenants: 10,
            accounts: 1_000,
            asks,
        },
        status,
    };
    rows.into_iter().map(row).collect()
}

/// That there was room for every record: a request for which there is none is not what is measured.
pub(crate) async fn not_full(envoy: &Envoy) -> Result<()> {
    let name = "tidegate_store_full";
    let full = envoy.sample(name, &[]).await?.context(name)?;
    ensure!(full == 0.0, "{name} is {full}");
    Ok(())
}
