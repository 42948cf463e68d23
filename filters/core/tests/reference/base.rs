//! A document in which any key may be written, left out, or written otherwise.

use serde_json::{Map, Value, json};
use tidegate_core::policy::{Mistake, Policy};

/// Where a key stands in the document, the outermost step first.
#[derive(Debug)]
pub(crate) struct Place {
    steps: Vec<String>,
    /// What has to stand there for the key to mean something.
    around: Value,
}

/// A policy in which each kind of route is there once.
fn base() -> Value {
    json!({
        "policy": "p", "version": "1",
        "notify": {"cluster": "alerts", "path": "/hook", "key_env": "KEY"},
        "identity": {
            "tenant": [{"jwt": "tenant_id"}],
            "account": [{"jwt": "sub"}],
            "plan": [{"jwt": "plan"}],
            "address": {"signed": {"header": "x-client", "key_env": "KEY"}}
        },
        "limits": {
            "calls": {"per": ["tenant", "account"], "rate": "60/min", "burst": 31_622_400, "max_keys": 1024},
            "searches": {"per": ["account"], "rate": "60/min", "plans": {"paid": {"rate": "600/min"}}}
        },
        "routes": [
            {"name": "once", "idempotency": {"key": "required", "execution": "detached"}},
            {"name": "event", "dedupe": {"by": [{"header": "x-id"}]}},
            {"name": "copy", "cache": {"scope": ["tenant"]}},
            {"name": "plain"}
        ]
    })
}

impl Place {
    /// Where the key of a row stands.
    pub(crate) fn of(path: &str) -> Self {
        let (path, around) = match path {
            // Alone in its object, where it is one of several.
            "identity.tenant[].jwt"
            | "identity.tenant[].header"
            | "identity.tenant[].query"
            | "identity.tenant[].cookie"
            | "identity.tenant[].san" => (path, json!({})),
            "routes[].dedupe.by[].header"
            | "routes[].dedupe.by[].json"
            | "routes[].dedupe.by[].body" => (path, json!({})),
            "canary.by" => (path, json!({"percent": 5})),
            "routes[].cost.default" => (path, json!({"header": "x-cost"})),
            "limits.NAME.plans.NAME.burst" => (path, json!({"rate": "600/min"})),
            "limits.NAME.burst" => (path, json!({"per": ["account"], "rate": "60/min"})),
            _ => (path, Value::Null),
        };
        let route = match path {
            _ if path.starts_with("routes[].idempotency.") => "0",
            _ if path.starts_with("routes[].dedupe.") => "1",
            _ if path.starts_with("routes[].cache.") => "2",
            _ => "3",
        };
        let path = path
            .replace("routes[]", &format!("routes.{route}"))
            .replace("[]", ".0");
        let mut names = ["searches", "paid"].into_iter();
        let steps = path.split('.').map(|step| match step {
            "NAME" => names.next().unwrap().to_owned(),
            other => other.to_owned(),
        });
        Self {
            steps: steps.collect(),
            around,
        }
    }

    /// The key itself.
    pub(crate) fn key(&self) -> &str {
        self.steps.last().unwrap()
    }

    /// The object that has the key; made where it is not there.
    fn object<'d>(&self, document: &'d mut Value) -> &'d mut Map<String, Value> {
        let (_, way) = self.steps.split_last().unwrap();
        let mut here = document;
        for step in way {
            here = match here {
                Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
                other => {
                    if !other.is_object() {
                        *other = json!({});
                    }
                    &mut other[step.as_str()]
                }
            };
        }
        if !self.around.is_null() {
            *here = self.around.clone();
        }
        if !here.is_object() {
            *here = json!({});
        }
        here.as_object_mut().unwrap()
    }
}

/// The document with this value under a key.
pub(crate) fn with(place: &Place, value: &Value) -> Value {
    let mut document = base();
    place
        .object(&mut document)
        .insert(place.key().to_owned(), value.clone());
    bare(place, &mut document);
    document
}

/// The document without the key.
pub(crate) fn without(place: &Place) -> Value {
    let mut document = base();
    let object = place.object(&mut document);
    object.remove(place.key());
    // One of several has to be there.
    if place.around == json!({}) {
        let other = if place.key() == "header" {
            "json"
        } else {
            "header"
        };
        let other = if place.steps[0] == "identity" && other == "json" {
            "jwt"
        } else {
            other
        };
        object.insert(
            other.to_owned(),
            if other == "json" {
                "/a".into()
            } else {
                "x-a".into()
            },
        );
    }
    bare(place, &mut document);
    document
}

/// Takes out what goes by parts of the document that are not there any more.
fn bare(place: &Place, document: &mut Value) {
    let steps: Vec<&str> = place.steps.iter().map(String::as_str).collect();
    let gone: &[&str] = match steps.as_slice() {
        ["limits"] => &["routes"],
        ["identity"] | ["identity", "tenant" | "account" | "plan"] => &["limits", "routes"],
        _ => &[],
    };
    for key in gone {
        document.as_object_mut().unwrap().remove(*key);
    }
}

/// What a document means, enforced yet or not.
pub(crate) fn checked(document: &Value) -> Result<Policy, Vec<Mistake>> {
    Policy::check(document.to_string().as_bytes()).map(|checked| checked.policy)
}
