//! `tidegate simulate` reads the access log of the Envoy that is there to copy, and refuses what that Envoy refused.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tidegate_e2e::envoy::{default_module, program};
use tidegate_e2e::{Client, Origin, eventually, repo};

const SOON: Duration = Duration::from_secs(60);

/// How many requests each address sends.
const REQUESTS: [(&str, usize); 3] = [("127.0.0.1", 9), ("127.0.0.2", 5), ("127.0.0.3", 2)];

/// An Envoy with `envoy/gate.yaml`, its log in a file; killed when it goes out of scope.
struct Shipped {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Shipped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shipped {
    /// The configuration as it is shipped, but for the ports.
    fn start(origin: &Origin) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("dist")).unwrap();
        fs::copy(default_module(), at("dist/tidegate.wasm")).unwrap();
        let mut text = fs::read_to_string(repo().join("envoy/gate.yaml")).unwrap();
        let port = format!("port_value: {}", origin.address().port());
        for (shipped, here) in [
            ("port_value: 9901", "port_value: 0"),
            ("port_value: 10000", "port_value: 0"),
            ("port_value: 8080", port.as_str()),
        ] {
            assert!(text.contains(shipped), "{shipped}");
            text = text.replace(shipped, here);
        }
        fs::write(at("gate.yaml"), text).unwrap();
        let child = Command::new(program().unwrap())
            .args(["--config-path", "gate.yaml", "--concurrency", "2"])
            .args(["--admin-address-path", "admin", "--log-path", "envoy.log"])
            .args(["--file-flush-interval-msec", "50", "--disable-hot-restart"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(File::create(at("access.log")).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("access.log")
    }

    /// The port of its listener, once it is ready.
    async fn port(&self) -> u16 {
        let client = Client::h1();
        let ready = eventually(SOON, async || {
            let admin = fs::read_to_string(self.folder.path().join("admin"))?;
            let listeners = format!("http://{admin}/listeners?format=json");
            let answer = client.get(listeners).send().await?.json()?;
            let port =
                &answer["listener_statuses"][0]["local_address"]["socket_address"]["port_value"];
            let port = port.as_u64().context("no listener yet")?;
            Ok(u16::try_from(port)?)
        });
        ready.await.unwrap()
    }
}

fn statuses(log: &Path) -> Vec<u64> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["status"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn what_envoy_refused_by_address_the_simulation_refuses() {
    let origin = Origin::start().await.unwrap();
    let envoy = Shipped::start(&origin);
    let url = format!("http://127.0.0.1:{}/things?secret=1", envoy.port().await);
    for (address, count) in REQUESTS {
        let from: IpAddr = address.parse().unwrap();
        let client = Client::builder().from(from).build_plain();
        for _ in 0..count {
            client.get(&url).send().await.unwrap();
        }
    }
    let sent: usize = REQUESTS.iter().map(|(_, count)| count).sum();
    let log = envoy.log();
    eventually(SOON, async || {
        let text = fs::read_to_string(&log)?;
        anyhow::ensure!(text.lines().count() == sent && text.ends_with('\n'));
        Ok(())
    })
    .await
    .unwrap();
    let refused = statuses(&log)
        .iter()
        .filter(|status| **status == 429)
        .count();
    assert!(refused > 0 && refused < sent, "{refused} of {sent}");

    let policy = envoy.folder.path().join("policy.json");
    fs::write(&policy, policy_of_gate()).unwrap();
    let report = simulate(&policy, &log);
    let then = &report["then"];
    assert_eq!(report["totals"]["requests"], sent);
    assert_eq!(report["input"]["unreadable"], 0);
    assert_eq!(then["known"], sent);
    assert_eq!(then["refused"], refused);
    assert_eq!(then["refused_both_times"], refused, "{report:#}");
    assert_eq!(then["refused_only_here"], 0, "{report:#}");
    // The log has no account: the report says so before anything else.
    let note = report["notes"][0].as_str().unwrap();
    assert!(
        note.contains("goes by account") && note.contains("do not log it"),
        "{note}"
    );
}

/// The policy that stands in `envoy/gate.yaml`.
fn policy_of_gate() -> String {
    let text = fs::read_to_string(repo().join("envoy/gate.yaml")).unwrap();
    let (_, after) = text.split_once("value: |\n").unwrap();
    let indent = after.find('{').unwrap();
    let inside = |line: &&str| line.find(|c| c != ' ').is_some_and(|start| start >= indent);
    after
        .lines()
        .take_while(inside)
        .collect::<Vec<_>>()
        .join("\n")
}

fn simulate(policy: &Path, log: &Path) -> Value {
    let run = Command::new(env!("CARGO"))
        .args([
            "run",
            "-q",
            "-p",
            "tidegate-cli",
            "--",
            "--format",
            "json",
            "simulate",
        ])
        .arg(policy)
        .arg("--log")
        .arg(log)
        .current_dir(repo())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    serde_json::from_slice(&run.stdout).unwrap()
}
