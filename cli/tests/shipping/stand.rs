//! A folder as Envoy discovers policies in, and modules beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Stand(TempDir);

/// A policy that speaks of caches or not.
fn policy(name: &str, version: &str, caches: bool) -> Value {
    let mut policy = json!({
        "policy": name, "version": version,
        "identity": {"account": [{"header": "x-account"}]},
        "limits": {"account": {"per": ["account"], "rate": "1/h", "burst": 5}},
        "always": ["account"],
    });
    if caches {
        policy["routes"] = json!([{
            "name": "orders", "match": {"path": "/orders"}, "cache": {"scope": ["account"], "by": "path"},
        }]);
    }
    policy
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, child: &Child) {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &pid])
        .status();
    assert!(sent.unwrap().success());
}

impl Stand {
    /// With the modules `1.wasm` and `2.wasm` of one policy, `caches.wasm` and `half.wasm`, a canary, of the same, and `other.wasm`.
    pub(crate) fn new() -> Self {
        let stand = Self(tempfile::tempdir().unwrap());
        let engine = wat::parse_str(include_str!("../packing/engine.wat")).unwrap();
        fs::write(stand.at("engine.wasm"), engine).unwrap();
        let mut half = policy("shop", "4", false);
        half["canary"] = json!({"percent": 50});
        for (file, policy) in [
            ("1.wasm", policy("shop", "1", false)),
            ("2.wasm", policy("shop", "2", false)),
            ("caches.wasm", policy("shop", "3", true)),
            ("other.wasm", policy("other", "1", false)),
            ("half.wasm", half),
        ] {
            fs::write(stand.at("policy.json"), policy.to_string()).unwrap();
            let pack = ["pack", ".", "-o", file, "--engine", "engine.wasm"];
            let packed = stand.run(&pack);
            assert!(packed.status.success(), "{packed:?}");
        }
        let ecds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../envoy/ecds");
        fs::create_dir(stand.at("to")).unwrap();
        for file in ["candidate.json", "origin.json"] {
            fs::copy(ecds.join(file), stand.at("to").join(file)).unwrap();
        }
        stand
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        tool.current_dir(self.0.path()).args(arguments);
        tool.output().unwrap()
    }

    /// Runs the tool on the folder; what it told, as JSON.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> Value {
        let more = ["--to", "to", "--format", "json"];
        let done = self.run(&[arguments, &more].concat());
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// Begins to run the tool on the folder, through a shell that does `first` before.
    pub(crate) fn begin(&self, first: &str, arguments: &[&str]) -> Child {
        let mut shell = std::process::Command::new("bash");
        shell
            .args(["-c", &format!("{first}exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .args(["--to", "to"])
            .current_dir(self.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell.spawn().unwrap()
    }

    /// Runs the tool on the folder, which changes nothing in it.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], status: i32, saying: &str) {
        let before = self.files();
        let failed = self.run(&[arguments, &["--to", "to"]].concat());
        assert_eq!(failed.status.code(), Some(status), "{failed:?}");
        let said = String::from_utf8(failed.stderr).unwrap();
        assert!(said.contains(saying), "{said}");
        assert!(failed.stdout.is_empty(), "{:?}", failed.stdout);
        assert!(self.files() == before, "it changed something");
    }

    /// The resource files of the folder and the history, and what is in them.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.at("to")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let told = paths.filter(|path| path.extension().is_some_and(|e| e == "json"));
        let mut files: Vec<_> = told
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }

    /// A resource file of the folder.
    pub(crate) fn resource(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.at("to").join(name)).unwrap()).unwrap()
    }

    /// What its plugin says at `pointer`.
    pub(crate) fn plugin(&self, name: &str, pointer: &str) -> Value {
        let plugin = format!("/resources/0/typed_config/config{pointer}");
        self.resource(name)
            .pointer(&plugin)
            .cloned()
            .unwrap_or_default()
    }

    /// The name of the module that is mounted there; empty if none is.
    pub(crate) fn mounted(&self, name: &str) -> String {
        let file = self.plugin(name, "/vm_config/code/local/filename");
        let file = PathBuf::from(file.as_str().unwrap_or_default());
        let name = file.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}
