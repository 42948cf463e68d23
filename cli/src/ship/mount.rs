//! What a resource mounts: a module and the configuration that it is given, or nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is mounted in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mount {
    /// A filter that does nothing.
    Nothing,
    /// A module.
    Module {
        /// Its file, as Envoy sees it.
        filename: String,
        /// The plugin's configuration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        configuration: Option<Value>,
    },
}

/// For whom a mount is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// For those for whom the module says.
    AsPacked,
    /// For everybody, whatever the policy says of a share.
    Everybody,
    /// For nobody.
    Shadow,
    /// For a share of callers.
    Canary {
        /// How many of a hundred.
        percent: u8,
        /// What tells them apart; the policy's own if not given.
        by: Option<Vec<String>>,
    },
}

impl Held {
    /// The plugin's configuration that says so.
    pub(crate) fn configuration(&self) -> Option<Value> {
        Some(json!({
            "@type": "type.googleapis.com/google.protobuf.StringValue",
            "value": self.text()?,
        }))
    }

    /// What the module is told; none where nothing is.
    pub(crate) fn text(&self) -> Option<String> {
        let told = match self {
            Self::AsPacked => return None,
            Self::Everybody => json!({"mode": "enforce"}),
            Self::Shadow => json!({"mode": "shadow"}),
            Self::Canary { percent, by: None } => json!({"canary": {"percent": percent}}),
            Self::Canary {
                percent,
                by: Some(by),
            } => json!({"canary": {"percent": percent, "by": by}}),
        };
        Some(told.to_string())
    }

    /// What a configuration that [`Held::configuration`] wrote says; none for any other.
    pub(crate) fn of(configuration: Option<&Value>) -> Option<Self> {
        let Some(configuration) = configuration else {
            return Some(Self::AsPacked);
        };
        let told = configuration.get("value")?.as_str()?;
        let told: Value = serde_json::from_str(told).ok()?;
        match told.get("mode").and_then(Value::as_str) {
            Some("shadow") => return Some(Self::Shadow),
            Some("enforce") => return Some(Self::Everybody),
            _ => {}
        }
        let canary = told.get("canary")?;
        let percent = canary.get("percent")?.as_u64()?.try_into().ok()?;
        let by = canary.get("by").and_then(Value::as_array).map(|by| {
            let names = by.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        });
        Some(Self::Canary { percent, by })
    }
}

#[cfg(test)]
mod tests {
    use super::Held;

    #[test]
    fn what_is_configured_reads_as_it_was_written() {
        let by = Some(vec!["tenant".to_owned(), "account".to_owned()]);
        for held in [
            Held::AsPacked,
            Held::Everybody,
            Held::Shadow,
            Held::Canary {
                percent: 5,
                by: None,
            },
            Held::Canary { percent: 100, by },
        ] {
            assert_eq!(Held::of(held.configuration().as_ref()), Some(held));
        }
    }
}
