//! The series that an Envoy with the module tells, by name, label and value.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::ensure;
use http::StatusCode;
use serde_json::json;
use tidegate_e2e::{Client, Envoy, Origin, Reply, eventually};

/// What Prometheus adds by itself.
const OF_PROMETHEUS: [(&str, &[&str]); 2] = [
    ("up", &[]),
    ("ALERTS", &["alertname", "alertstate", "severity"]),
];

/// The labels that Prometheus adds to whatever it scrapes.
const OF_TARGETS: [&str; 2] = ["instance", "job"];

const SOON: Duration = Duration::from_secs(20);

/// The values of each label; none where they are not known.
pub(crate) type Labels = BTreeMap<String, BTreeSet<String>>;

/// The labels of each series by its name.
#[derive(Debug, Default)]
pub(crate) struct Exported(BTreeMap<String, Labels>);

impl Exported {
    /// What an Envoy tells that has seen a refusal, a 5xx of its origin, and two policies that disagree.
    pub(crate) async fn scrape() -> Self {
        let origin = Origin::start().await.unwrap();
        origin.answer("/broken", Reply::status(StatusCode::BAD_GATEWAY));
        let policy = |name: &str, burst: u64| {
            json!({
                "policy": name, "version": "1",
                "identity": {"account": [{"header": "x-account"}]},
                "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": burst}},
                "always": ["account"],
                "routes": [{
                    "name": "charges", "match": {"path": "/charges"}, "idempotency": {"key": "optional", "ttl": "1h"},
                }],
            })
        };
        let mut candidate = policy("next", 1);
        candidate["canary"] = json!({"percent": 1});
        let mut now = policy("now", 2);
        now["notify"] = json!({"cluster": "alerts", "path": "/", "key_env": "NOTIFY_KEY"});
        let envoy = Envoy::builder()
            .concurrency(1)
            .environment("NOTIFY_KEY", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            .policy(&now)
            .candidate(&candidate)
            .origin(&origin);
        let envoy = envoy.start().await.unwrap();
        let client = Client::h1();
        for _ in 0..4 {
            let call = client.get(envoy.at("/broken")).header("x-account", "blue");
            call.send().await.unwrap();
        }
        let text = eventually(SOON, async || {
            let text = envoy.prometheus().await?;
            for late in [
                "enforced=\"100\"",
                "tidegate_shadow_disagreements{",
                "envoy_cluster_upstream_rq_xx{",
                "tidegate_table_occupancy{",
                "tidegate_decide_us_bucket{",
            ] {
                ensure!(text.contains(late), "no `{late}` yet");
            }
            Ok(text)
        });
        Self::read(&text.await.unwrap())
    }

    fn read(text: &str) -> Self {
        let mut exported = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, rest)) = line.split_once('{') else {
                continue;
            };
            let labels = exported.0.entry(name.to_owned()).or_default();
            let (pairs, _) = rest.rsplit_once('}').unwrap();
            for pair in pairs.split("\",").filter(|pair| !pair.is_empty()) {
                let (label, value) = pair.split_once("=\"").unwrap();
                let value = value.trim_end_matches('"').to_owned();
                labels.entry(label.to_owned()).or_default().insert(value);
            }
        }
        for (name, labels) in OF_PROMETHEUS {
            exported.add(name, labels.iter().copied());
        }
        exported
    }

    /// One more series, whose values are not known.
    pub(crate) fn add<'a>(&mut self, name: &str, labels: impl Iterator<Item = &'a str>) {
        let labels = labels.map(|label| (label.to_owned(), BTreeSet::new()));
        self.0.insert(name.to_owned(), labels.collect());
    }

    /// The labels of a series, those that Prometheus adds among them; `None` if nobody tells it.
    pub(crate) fn labels(&self, name: &str) -> Option<Labels> {
        let mut labels = self.0.get(name)?.clone();
        for label in OF_TARGETS {
            labels.entry(label.to_owned()).or_default();
        }
        Some(labels)
    }
}
