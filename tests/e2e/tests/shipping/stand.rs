//! An Envoy with two workers, started from envoy/ecds/ with a policy that was packed and shipped there.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_e2e::{Answer, Client, Envoy, Origin, tool};

/// How long Envoy may take to count.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) struct Stand {
    pub(crate) envoy: Envoy,
    pub(crate) origin: Origin,
    files: TempDir,
}

/// Each account has five requests an hour; `steady` has all that it wants. Charges run once.
pub(crate) fn policy(version: &str) -> Value {
    json!({
        "policy": "shop", "version": version,
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {
            "per": ["account"], "rate": "1/h", "burst": 5,
            "overrides": {"account": {"steady": {"rate": "100000/s", "burst": 100_000}}},
        }},
        "always": ["account"],
        "routes": [{
            "name": "charges", "match": {"methods": ["POST"], "path": "/charges"},
            "idempotency": {"key": "required"},
        }],
    })
}

impl Stand {
    /// With this policy in the gate.
    pub(crate) async fn start(policy: &Value) -> Self {
        let origin = Origin::start().await.unwrap();
        let folder = tempfile::Builder::new()
            .prefix("tidegate-e2e-")
            .tempdir()
            .unwrap();
        Envoy::copy_shipped(folder.path(), &origin).unwrap();
        let files = tempfile::tempdir().unwrap();
        pack_into(&files, policy, "first.wasm").await;
        let to = folder.path().to_str().unwrap();
        let ship = ["ship", "first.wasm", "--to", to];
        is_done(&tool::run(files.path(), &ship).await.unwrap());
        let envoy = Envoy::start_shipped(folder, ".").await.unwrap();
        Self {
            envoy,
            origin,
            files,
        }
    }

    /// A file beside what is packed.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// A file of the folder that Envoy discovers policies in.
    pub(crate) fn shipped(&self, name: &str) -> Value {
        let text = fs::read(self.envoy.folder().join(name)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Packs a policy.
    pub(crate) async fn pack(&self, policy: &Value, name: &str) {
        pack_into(&self.files, policy, name).await;
    }

    /// Runs the tool on the folder, with Envoy's admin address.
    pub(crate) async fn tool(&self, arguments: &[&str]) -> Output {
        let (folder, admin) = (self.envoy.folder(), self.envoy.admin());
        let place = ["--to", folder.to_str().unwrap(), "--admin", &admin];
        let arguments = [arguments, &place, &["--format", "json"]].concat();
        tool::run(self.files.path(), &arguments).await.unwrap()
    }

    pub(crate) async fn ask(&self, account: &str) -> Answer {
        let call = Client::h1().get(self.envoy.shipped_at("/"));
        call.header("x-account", account).send().await.unwrap()
    }

    /// Asks until a refusal comes; how many requests were admitted before it.
    pub(crate) async fn drain(&self, account: &str) -> u64 {
        for admitted in 0..1_000 {
            match self.ask(account).await.status.as_u16() {
                200 => {}
                429 => return admitted,
                other => panic!("status {other}"),
            }
        }
        panic!("{account} is never refused")
    }

    /// A charge of `account` under `key`, on a connection of its own.
    pub(crate) async fn charge(&self, account: &str, key: &str) -> Answer {
        let call = Client::h1().post(self.envoy.shipped_at("/charges"));
        let call = call.header("x-account", account);
        let call = call.header("idempotency-key", format!("\"{key}\""));
        call.body("{}").send().await.unwrap()
    }
}

async fn pack_into(files: &TempDir, policy: &Value, name: &str) {
    let folder = files.path().join(format!("{name}.policy"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("policy.json"), format!("{policy:#}\n")).unwrap();
    let folder = folder.to_str().unwrap();
    let mut arguments = vec!["pack", folder, "-o", name];
    let engine = tidegate_e2e::envoy::default_module();
    arguments.extend(["--engine", engine.to_str().unwrap()]);
    is_done(&tool::run(files.path(), &arguments).await.unwrap());
}

pub(crate) fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[track_caller]
pub(crate) fn is_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", errors(output));
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}
