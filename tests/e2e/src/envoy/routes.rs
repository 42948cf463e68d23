//! Where Envoy sends requests, and what it says when it answers itself.

use serde_json::{Value, json};

use super::Builder;

impl Builder {
    /// These routes of Envoy in place of the one that takes everything; the origin is the cluster `origin`.
    #[must_use]
    pub fn routes(mut self, routes: Vec<Value>) -> Self {
        self.routes = Some(routes);
        self
    }

    /// The `retry_policy` of the one route that takes everything; of no effect beside [`Builder::routes`].
    #[must_use]
    pub fn retry(mut self, policy: Value) -> Self {
        self.retry = Some(policy);
        self
    }

    /// The `local_reply_config` of the connection manager.
    #[must_use]
    pub fn local_reply(mut self, config: Value) -> Self {
        self.local_reply = Some(config);
        self
    }
}

/// The routes of `builder`.
pub(super) fn routes(builder: &Builder) -> Vec<Value> {
    builder
        .routes
        .clone()
        .unwrap_or_else(|| vec![everything(builder)])
}

fn everything(builder: &Builder) -> Value {
    let mut route = json!({"name": "all", "match": {"prefix": "/"}});
    if builder.origin.is_some() {
        route["route"] = json!({"cluster": "origin", "timeout": "10s"});
        if let Some(policy) = &builder.retry {
            route["route"]["retry_policy"] = policy.clone();
        }
    } else {
        route["direct_response"] = json!({"status": 200, "body": {"inline_string": "{}"}});
    }
    route
}
