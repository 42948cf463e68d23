//! Mounts of the module.

use serde_json::{Map, Value};
use tidegate_core::policy::{BESIDE_PACKED, Mistake, Policy};

use super::node::Node;

/// A Wasm filter that is Tidegate.
#[derive(Debug)]
pub(super) struct Mount<'e> {
    /// Its `config`.
    pub(super) config: Node<'e>,
    /// `None` where `root_id` is no role.
    pub(super) role: Option<Role>,
    pub(super) vm_id: Option<Node<'e>>,
    /// The policy that it is given; `None` where it has its own, packed.
    pub(super) document: Option<Document<'e>>,
    /// What it is told beside a packed policy; `None` where that is nothing.
    pub(super) beside: Option<Beside<'e>>,
}

/// What a mount does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Gate,
    Origin,
    Admin,
}

/// A policy in a configuration.
#[derive(Debug)]
pub(super) struct Document<'e> {
    pub(super) at: Node<'e>,
    /// Its name, as far as it can be read.
    pub(super) name: Option<String>,
    pub(super) mistakes: Vec<Mistake>,
}

/// What a mount of a packed module is told: whether its policy is in force, and for whom.
#[derive(Debug)]
pub(super) struct Beside<'e> {
    pub(super) at: Node<'e>,
    pub(super) text: String,
}

/// The roles by the name that `root_id` has for them.
const ROLES: [(&str, Role); 3] = [
    ("gate", Role::Gate),
    ("origin", Role::Origin),
    ("admin", Role::Admin),
];

impl<'e> Mount<'e> {
    /// What a Wasm filter of this name and configuration is; `None` if nothing says that it is Tidegate.
    pub(super) fn of(name: &str, filter: &Node<'e>) -> Option<Self> {
        let config = filter.get("config")?;
        let root_id = config.text_of("root_id").unwrap_or_default();
        let role = ROLES.iter().find(|(name, _)| *name == root_id);
        let role = role.map(|(_, role)| *role);
        let code = ["local", "filename"];
        let file = config
            .at(&["vm_config", "code"])
            .and_then(|node| node.at(&code));
        let vm_id = config.at(&["vm_config", "vm_id"]);
        let texts = [
            Some(name),
            config.text_of("name"),
            vm_id.as_ref().and_then(Node::text),
            file.as_ref().and_then(Node::text),
        ];
        let named = texts.into_iter().flatten().any(|t| t.contains("tidegate"));
        let (document, beside) = match config.get("configuration").and_then(told) {
            Some(Told::Policy(document)) => (Some(document), None),
            Some(Told::Beside(beside)) => (None, Some(beside)),
            None => (None, None),
        };
        if role.is_none() && !named {
            return None;
        }
        Some(Self {
            vm_id: vm_id.filter(|id| id.text().is_some_and(|id| !id.is_empty())),
            config,
            role,
            document,
            beside,
        })
    }

    /// Whether it may have this policy: it names it, or does not say which it has.
    pub(super) fn may_be_of(&self, policy: &Policy) -> bool {
        let name = self
            .document
            .as_ref()
            .map(|document| document.name.as_deref());
        name.is_none_or(|name| name.is_none_or(|name| name == policy.name))
    }

    /// Whether the VM has an environment variable.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        let Some(variables) = self.config.at(&["vm_config", "environment_variables"]) else {
            return false;
        };
        let host = variables.get("host_env_keys").map(|keys| keys.items());
        let own = variables.get("key_values");
        host.unwrap_or_default()
            .iter()
            .any(|key| key.text() == Some(name))
            || own.is_some_and(|own| own.value.get(name).is_some())
    }
}

/// What a `configuration` says.
enum Told<'e> {
    Policy(Document<'e>),
    Beside(Beside<'e>),
}

/// Reads a `configuration`; `None` where it says nothing.
fn told(configuration: Node<'_>) -> Option<Told<'_>> {
    let at = configuration.get("value")?;
    let text = match at.value {
        Value::String(text) if !text.trim().is_empty() => text.clone(),
        Value::Object(members) if !members.is_empty() => at.value.to_string(),
        _ => return None,
    };
    let members: Option<Value> = serde_json::from_str(&text).ok();
    let keys = members.as_ref().and_then(Value::as_object);
    let beside = |keys: &Map<_, _>| (keys.keys()).all(|key| BESIDE_PACKED.contains(&key.as_str()));
    if keys.is_some_and(beside) {
        return Some(Told::Beside(Beside { at, text }));
    }
    let name = keys
        .and_then(|keys| keys.get("policy"))
        .and_then(Value::as_str);
    Some(Told::Policy(Document {
        name: name.map(str::to_owned),
        mistakes: Policy::parse(text.as_bytes()).err().unwrap_or_default(),
        at,
    }))
}
