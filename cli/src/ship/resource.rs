//! A resource file: a discovery response with one filter in it. What stands in one is the operator's, but for the code, its
//! configuration and the version.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::Mount;
use super::slot::Place;

const WASM: &str = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";
const NOTHING: &str =
    "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation";

/// A resource file's content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resource(Value);

impl Resource {
    /// Reads one.
    ///
    /// # Errors
    /// It is not a discovery response with one filter.
    pub(super) fn read(file: &Path, bytes: &[u8]) -> Result<Self> {
        let shown = file.display();
        let value: Value =
            serde_json::from_slice(bytes).with_context(|| format!("`{shown}` is not JSON"))?;
        let resources = value.get("resources").and_then(Value::as_array);
        match resources.map(Vec::as_slice) {
            Some([one]) if one.get("typed_config").is_some_and(Value::is_object) => Ok(Self(value)),
            _ => bail!(
                "`{shown}` does not hold one filter; write `resources` with one TypedExtensionConfig in it, as in envoy/ecds/"
            ),
        }
    }

    /// One that mounts nothing.
    pub(super) fn nothing(place: Place) -> Self {
        Self(json!({
            "version_info": "0",
            "resources": [{
                "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
                "name": place.name,
                "typed_config": {"@type": NOTHING, "mutations": {}},
            }],
        }))
    }

    /// The resource's name.
    pub(super) fn name(&self, place: Place) -> &str {
        let name = self.0.pointer("/resources/0/name").and_then(Value::as_str);
        name.unwrap_or(place.name)
    }

    /// What is mounted.
    pub(super) fn mount(&self) -> Mount {
        let Some(plugin) = self.plugin() else {
            return Mount::Nothing;
        };
        let filename = plugin.pointer("/vm_config/code/local/filename");
        Mount::Module {
            filename: filename
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            configuration: plugin.get("configuration").cloned(),
        }
    }

    /// The name under which the state of what is mounted is kept.
    pub(super) fn vm_id(&self) -> Option<&str> {
        self.plugin()?.pointer("/vm_config/vm_id")?.as_str()
    }

    /// The plugin's configuration, where a module is mounted.
    fn plugin(&self) -> Option<&Value> {
        let filter = self.0.pointer("/resources/0/typed_config")?;
        let wasm = filter.get("@type").and_then(Value::as_str) == Some(WASM);
        wasm.then(|| filter.get("config"))?
    }

    /// The same place with something else mounted; `fresh` is the plugin where none was.
    pub(super) fn with(&self, mount: &Mount, fresh: impl FnOnce() -> Value, version: &str) -> Self {
        let mut next = self.0.clone();
        let filter = match mount {
            Mount::Nothing => json!({"@type": NOTHING, "mutations": {}}),
            Mount::Module {
                filename,
                configuration,
            } => {
                let mut plugin = self.plugin().cloned().unwrap_or_else(fresh);
                if let Some(fields) = plugin.as_object_mut() {
                    match configuration {
                        Some(given) => fields.insert("configuration".into(), given.clone()),
                        None => fields.remove("configuration"),
                    };
                    let vm = fields.entry("vm_config").or_insert_with(|| json!({}));
                    if let Some(vm) = vm.as_object_mut() {
                        vm.insert("code".into(), json!({"local": {"filename": filename}}));
                    }
                }
                json!({"@type": WASM, "config": plugin})
            }
        };
        if let Some(one) = next.pointer_mut("/resources/0")
            && let Some(one) = one.as_object_mut()
        {
            one.insert("typed_config".into(), filter);
        }
        if let Some(all) = next.as_object_mut() {
            all.insert("version_info".into(), version.into());
        }
        Self(next)
    }

    /// The plugin for another place, as this one has it: its environment above all.
    pub(super) fn plugin_for(&self, place: Place) -> Option<Value> {
        let mut plugin = self.plugin()?.clone();
        let vm_id = format!("{}{}", self.vm_id()?, place.suffix);
        let vm = plugin.pointer_mut("/vm_config")?.as_object_mut()?;
        vm.insert("vm_id".into(), vm_id.into());
        let fields = plugin.as_object_mut()?;
        fields.insert("root_id".into(), place.role.into());
        Some(plugin)
    }

    /// The bytes of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        format!("{:#}\n", self.0).into_bytes()
    }
}

/// The plugin of a policy that nobody wrote a mount for: the flags are those of envoy/gate.yaml.
pub(super) fn fresh(place: Place, policy: &str) -> Value {
    json!({
        "name": "tidegate",
        "root_id": place.role,
        "failure_policy": "FAIL_RELOAD",
        "allow_on_headers_stop_iteration": true,
        "vm_config": {
            "vm_id": format!("tidegate-{policy}{}", place.suffix),
            "runtime": "envoy.wasm.runtime.v8",
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{Resource, fresh};
    use crate::ship::Mount;
    use crate::ship::slot::GATE;

    fn module(filename: &str) -> Mount {
        Mount::Module {
            filename: filename.into(),
            configuration: None,
        }
    }

    #[test]
    fn what_the_operator_wrote_stays() {
        let mine = json!({
            "version_info": "mine", "nonce": "n",
            "resources": [{"name": "my-gate", "typed_config": {
                "@type": super::WASM,
                "config": {
                    "name": "x", "fail_open": false, "configuration": {"@type": "s", "value": "{}"},
                    "vm_config": {"vm_id": "mine", "environment_variables": {"host_env_keys": ["KEY"]},
                                  "code": {"local": {"filename": "/a.wasm"}}},
                },
            }}],
        });
        let resource = Resource::read(Path::new("gate.json"), mine.to_string().as_bytes()).unwrap();
        let next = resource.with(&module("/b.wasm"), || panic!("not fresh"), "2");
        let mut expected = mine;
        expected["version_info"] = json!("2");
        let plugin = &mut expected["resources"][0]["typed_config"]["config"];
        plugin["vm_config"]["code"]["local"]["filename"] = json!("/b.wasm");
        plugin.as_object_mut().unwrap().remove("configuration");
        assert_eq!(next.0, expected);
        assert_eq!(next.mount(), module("/b.wasm"));
        assert_eq!(next.name(GATE), "my-gate");
    }

    #[test]
    fn nothing_and_a_fresh_module_follow_each_other() {
        let nothing = Resource::nothing(GATE);
        assert_eq!(nothing.mount(), Mount::Nothing);
        let one = nothing.with(&module("/a.wasm"), || fresh(GATE, "shop"), "1");
        assert_eq!(one.mount(), module("/a.wasm"));
        assert_eq!(one.vm_id(), Some("tidegate-shop"));
        let gone = one.with(&Mount::Nothing, || Value::Null, "0");
        assert_eq!(gone, nothing);
    }
}
