//! Who is answered, and who is not.

use http::Method;
use tidegate_e2e::{Client, Envoy, Origin};

use super::{policy, post, start};

#[tokio::test]
async fn by_another_address_than_loopback_nobody_is_answered_unless_the_policy_says_so() {
    let Some(address) = own_address() else {
        panic!("this machine has no address but loopback");
    };
    for allowed in [false, true] {
        let origin = Origin::start().await.unwrap();
        let mut policy = policy();
        if allowed {
            policy["admin"] = serde_json::json!({"addresses": [address.to_string()]});
        }
        let envoy = Envoy::builder()
            .policy(&policy)
            .origin(&origin)
            .admin_role("0.0.0.0")
            .start()
            .await
            .unwrap();
        // The listener is the same; by loopback it answers.
        let own = Client::h1()
            .get(envoy.live("/limits"))
            .send()
            .await
            .unwrap();
        assert_eq!(own.status, 200);
        let port = envoy.live("").rsplit_once(':').unwrap().1.to_owned();
        for (method, path) in [
            (Method::GET, "/limits"),
            (Method::GET, "/"),
            (Method::POST, "/limits/reset"),
            (Method::GET, "/nowhere"),
        ] {
            let url = format!("http://{address}:{port}{path}");
            let answer = Client::h1().call(method, url).send().await.unwrap();
            assert_eq!(answer.status == 403, !allowed, "{path}: {}", answer.text());
            if !allowed {
                let problem = answer.problem().unwrap().to_string();
                assert!(
                    problem.contains("is not loopback") && problem.contains("addresses"),
                    "{problem}"
                );
            }
        }
    }
}

/// An address of this machine that is not loopback. Nothing is sent.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[tokio::test]
async fn by_a_name_of_somebody_else_nobody_is_answered() {
    let (envoy, _origin) = start(1).await;
    for (host, status) in [
        ("127.0.0.1", 200),
        ("localhost:9902", 200),
        ("LOCALHOST", 200),
        ("[::1]:80", 200),
        ("10.0.0.1", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example:80", 403),
        ("localhost.", 403),
    ] {
        let answer = Client::h1()
            .get(envoy.live("/limits"))
            .header("host", host)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status.as_u16(), status, "{host}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let mut named = policy();
    named["admin"] = serde_json::json!({"hosts": ["live.internal"]});
    let (envoy, _origin) = super::start_with(1, named).await;
    let answer = Client::h1()
        .get(envoy.live("/limits"))
        .header("host", "live.internal:9902")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn what_a_page_of_somebody_else_sends_changes_nothing() {
    let (envoy, _origin) = start(1).await;
    let own = envoy.live("");
    let form = "limit=account&account=amy";
    for (name, value, status) in [
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("origin", own.as_str(), 200),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
    ] {
        let call = Client::h1()
            .post(envoy.live("/limits/reset"))
            .header(name, value);
        let call = call.header("content-type", "application/x-www-form-urlencoded");
        let answer = call.body(form).send().await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{name}: {value}");
    }
    // Without a browser there is no other page.
    let answer = post(&envoy, "/limits/reset", form).await;
    assert_eq!(answer.status, 200);
    for (name, said) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(answer.header(name), Some(said));
    }
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none';") && policy.contains("script-src 'sha256-"),
        "{policy}"
    );
}
