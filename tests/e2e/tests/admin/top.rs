//! `tidegate top`.

use anyhow::ensure;
use serde_json::Value;
use tidegate_e2e::{eventually, tool};

use super::{SECRET, SOON, amy, shown, start};

#[tokio::test]
async fn top_shows_who_is_refused_and_no_secret() {
    let (envoy, _origin) = start(2).await;
    for _ in 0..10 {
        amy(&envoy, "/x").await;
    }
    let refused = eventually(SOON, async || {
        let all = shown(&envoy, "/limits").await;
        ensure!(all["scopes"][0]["refused"] == 7, "{all:#}");
        Ok(all)
    })
    .await
    .unwrap();
    let scope = refused["scopes"][0]["scope"].as_str().unwrap();
    let folder = envoy.folder();
    let address = envoy.live("");
    let once = tool::run(&folder, &["top", "--admin", &address, "--once"])
        .await
        .unwrap();
    let text = String::from_utf8(once.stdout).unwrap();
    assert!(once.status.success(), "{text}");
    let row = text.lines().find(|line| line.contains(scope)).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[0], cells[1]), ("-", "7"), "{text}");
    assert!(row.contains("0/3") && row.contains("account"), "{text}");
    assert!(
        text.starts_with("policy `live` version `7.1`, 1 refused"),
        "{text}"
    );
    assert!(!text.contains(SECRET));

    let json = tool::run(&folder, &["top", "--admin", &address, "--format", "json"])
        .await
        .unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["scopes"][0]["scope"], scope);

    // Who is asked wrongly is told so.
    for (wrong, said) in [
        (envoy.admin(), "does not answer as the role `admin` does"),
        (envoy.url(), "does not answer as the role `admin` does"),
        ("127.0.0.1:1".to_owned(), "nobody answers"),
    ] {
        let ran = tool::run(&folder, &["top", "--admin", &wrong])
            .await
            .unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(4), "{err}");
        assert!(err.contains(said), "{err}");
    }
}

#[tokio::test]
async fn on_a_terminal_it_is_live_and_leaves_the_terminal_as_it_was() {
    let (envoy, _origin) = start(1).await;
    let command = format!(
        "{} top --admin {} --interval 200ms",
        tool::path().unwrap().display(),
        envoy.live("")
    );
    let mut script = tokio::process::Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    let mut screen = script.stdout.take().unwrap();
    let mut told = Vec::new();
    let mut read_until = async |what: &str| {
        use tokio::io::AsyncReadExt as _;
        let mut chunk = [0; 4096];
        let read = async {
            while !String::from_utf8_lossy(&told).contains(what) {
                let count = screen.read(&mut chunk).await.unwrap();
                assert!(count > 0, "{}", String::from_utf8_lossy(&told));
                told.extend_from_slice(&chunk[..count]);
            }
        };
        tokio::time::timeout(SOON, read).await.unwrap();
        String::from_utf8_lossy(&told).into_owned()
    };
    read_until("0 refused").await;
    for _ in 0..10 {
        amy(&envoy, "/x").await;
    }
    read_until("1 refused").await;
    {
        use tokio::io::AsyncWriteExt as _;
        keys.write_all(b"q").await.unwrap();
    }
    let told = read_until("\x1b[?1049l").await;
    assert!(
        told.contains("\x1b[?1049h") && told.contains("\x1b[?25h"),
        "{told:?}"
    );
    assert!(script.wait().await.unwrap().success());
}
