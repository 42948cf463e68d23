//! Something that answers as Envoy's admin interface does, of an Envoy that discovers its policies in the folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;

use crate::stand::Stand;

/// What it counts at each look.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) decisions: u64,
    pub(crate) refused: u64,
    pub(crate) answers: u64,
    pub(crate) server_errors: u64,
    /// The same of the two, while no candidate is there.
    pub(crate) before: (u64, u64),
}

pub(crate) struct Fake {
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
}

struct State {
    folder: PathBuf,
    begun: Instant,
    traffic: Traffic,
    counted: Traffic,
    /// Resource files whose content it does not take up.
    stuck: BTreeMap<String, Value>,
    /// Resource files that it refuses, by what it refused of them.
    refuses: Vec<String>,
    /// VMs that run what the gate mounts, of three.
    gate_vms: u64,
}

impl Fake {
    /// A busy one in which all is well.
    pub(crate) fn start(stand: &Stand) -> Self {
        let state = Arc::new(Mutex::new(State {
            folder: stand.at("to"),
            begun: Instant::now() - std::time::Duration::from_secs(1000),
            traffic: Traffic {
                decisions: 50,
                answers: 1000,
                before: (1000, 0),
                ..Traffic::default()
            },
            counted: Traffic::default(),
            stuck: BTreeMap::new(),
            refuses: Vec::new(),
            gate_vms: 3,
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &asked);
            }
        });
        Self { address, state }
    }

    pub(crate) fn traffic(&self, traffic: Traffic) {
        self.state.lock().unwrap().traffic = traffic;
    }

    /// From now on it does not take up what is written into this file.
    pub(crate) fn is_stuck(&self, file: &str) {
        let mut state = self.state.lock().unwrap();
        let there = read(&state.folder.join(file));
        state.stuck.insert(file.to_owned(), there);
    }

    /// It refuses what is written into this file.
    pub(crate) fn refuses(&self, file: &str) {
        self.state.lock().unwrap().refuses.push(file.to_owned());
    }

    /// Only so many VMs run what the gate mounts.
    pub(crate) fn gate_vms(&self, number: u64) {
        self.state.lock().unwrap().gate_vms = number;
    }

    /// It is started again, and counts much from the first look on.
    pub(crate) fn starts_again(&self) {
        let mut state = self.state.lock().unwrap();
        state.begun = Instant::now();
        state.counted.answers *= 10;
        state.counted.decisions *= 10;
    }
}

fn read(file: &Path) -> Value {
    let text = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let mut request = [0; 4096];
    let length = stream.read(&mut request).unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let mut state = state.lock().unwrap();
    let body = if path.starts_with("/server_info") {
        let uptime = state.begun.elapsed().as_secs();
        format!(
            r#"{{"command_line_options": {{"concurrency": 2}}, "uptime_current_epoch": "{uptime}s"}}"#
        )
    } else if path.contains("extension_config_discovery") {
        state.discovery()
    } else if path.contains("^wasmcustom.tidegate_workers") {
        state.workers()
    } else {
        state.figures()
    };
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
    let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
}

impl State {
    fn resource(&self, file: &str) -> Value {
        let stuck = self.stuck.get(file).cloned();
        stuck.unwrap_or_else(|| read(&self.folder.join(file)))
    }

    fn discovery(&self) -> String {
        let mut text = String::new();
        for (file, name) in [
            ("gate.json", "http_filter.tidegate-gate"),
            ("candidate.json", "http_filter.tidegate-candidate"),
            ("origin.json", "upstream_http_filter.tidegate-origin"),
        ] {
            let version = self.resource(file)["version_info"].clone();
            let ours = version.as_str().is_some_and(|text| text.contains(" 2 "));
            let refused = u64::from(ours && self.refuses.iter().any(|one| one == file));
            let of = format!("extension_config_discovery.{name}");
            let _ = write!(
                text,
                "{of}.update_success: 1\n{of}.update_rejected: {refused}\n{of}.version_text: {version}\n"
            );
        }
        text
    }

    /// Where both slots run the same, what is told is what the candidate's VMs tell.
    fn workers(&self) -> String {
        let mut gauges = BTreeMap::new();
        for (file, vms) in [("gate.json", self.gate_vms), ("candidate.json", 3)] {
            let plugin = self.resource(file)["resources"][0]["typed_config"]["config"].clone();
            let name = &plugin["vm_config"]["code"]["local"]["filename"];
            let Some(name) = name.as_str().and_then(|name| name.rsplit('/').next()) else {
                continue;
            };
            let mut parts = name.trim_end_matches(".wasm").split('-');
            let [policy, version, digest] = [(); 3].map(|()| parts.next().unwrap());
            let told = plugin["configuration"]["value"].as_str().unwrap_or("{}");
            let told: Value = serde_json::from_str(told).unwrap();
            let enforced = match told["mode"].as_str() {
                Some("shadow") => 0,
                _ => told["canary"]["percent"].as_u64().unwrap_or(100),
            };
            let labels =
                format!("policy.{policy}.version.{version}.digest.{digest}.enforced.{enforced}");
            gauges.insert(labels, vms);
        }
        gauges.iter().fold(String::new(), |text, (labels, vms)| {
            format!("{text}wasmcustom.tidegate_workers.{labels}: {vms}\n")
        })
    }

    fn figures(&mut self) -> String {
        let there = self
            .resource("candidate.json")
            .to_string()
            .contains("canary");
        let add = self.traffic;
        let (answers, errors) = if there {
            (add.answers, add.server_errors)
        } else {
            add.before
        };
        let counted = &mut self.counted;
        counted.answers += answers;
        counted.server_errors += errors;
        if there {
            counted.decisions += add.decisions;
            counted.refused += add.refused;
        }
        let of = "wasmcustom.tidegate_decisions.policy.shop.rule";
        format!(
            "{of}.none.outcome.canary-allowed: {}\n{of}.account.outcome.canary-refused: {}\nhttp.ingress.downstream_rq_completed: {}\nhttp.ingress.downstream_rq_5xx: {}\n",
            counted.decisions - counted.refused,
            counted.refused,
            counted.answers,
            counted.server_errors
        )
    }
}
