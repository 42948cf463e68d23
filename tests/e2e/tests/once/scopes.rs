//! Whose key it is, and for what.

use http::Method;
use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Client};

use crate::stand::{BODY, CHARGES, Stand, nameless, policy};
use crate::{KEY, is_problem, is_replay, is_replay_of};

/// Who asks for what, by one and the same key.
#[derive(Clone, Copy, Debug)]
struct Who<'a> {
    tenant: &'a str,
    account: &'a str,
    host: &'a str,
    path: &'a str,
    method: &'a str,
}

impl Who<'_> {
    async fn ask(&self, stand: &Stand) -> Answer {
        let method = self.method.parse().unwrap();
        let call = nameless(&Client::h1(), method, &stand.envoy, self.path);
        let call = call
            .header("x-tenant", self.tenant)
            .header("x-account", self.account)
            .header("host", self.host);
        keyed(call).send().await.unwrap()
    }
}

fn keyed(call: Call) -> Call {
    call.header(KEY, "\"the one key\"").body(BODY)
}

#[tokio::test]
async fn a12_one_key_of_two_tenants_accounts_hosts_paths_and_methods_is_as_many_keys() {
    let mut policy = policy(&json!({"key": "required"}));
    policy["routes"][0]["match"]["methods"] = json!(["POST", "PATCH", "PUT"]);
    let stand = Stand::start(&policy, |b| b).await;
    let mut all = Vec::new();
    for tenant in ["acme", "umbrella"] {
        for account in ["amy", "bob"] {
            for host in ["a.example", "b.example"] {
                for path in [CHARGES, "/v1/refunds"] {
                    for method in ["POST", "PATCH", "PUT"] {
                        all.push(Who {
                            tenant,
                            account,
                            host,
                            path,
                            method,
                        });
                    }
                }
            }
        }
    }
    let mut first = Vec::new();
    for who in &all {
        let answer = who.ask(&stand).await;
        assert_eq!(answer.status, 200, "{who:?} {answer:?}");
        assert!(!is_replay(&answer), "{who:?} {answer:?}");
        first.push(answer);
    }
    assert_eq!(stand.origin.total(), 48);
    for (who, first) in all.iter().zip(&first) {
        let answer = who.ask(&stand).await;
        assert!(is_replay(&answer), "{who:?} {answer:?}");
        is_replay_of(&answer, first);
    }
    assert_eq!(stand.origin.total(), 48);
}

#[tokio::test]
async fn a14_what_could_be_read_as_one_text_is_two_callers() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let pairs = [
        ("a", "bc"),
        ("ab", "c"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("a\"", "b"),
        ("a", "\"b"),
    ];
    for (tenant, account) in pairs {
        let who = Who {
            tenant,
            account,
            host: "a.example",
            path: CHARGES,
            method: "POST",
        };
        assert!(!is_replay(&who.ask(&stand).await), "{who:?}");
        assert!(is_replay(&who.ask(&stand).await), "{who:?}");
    }
    assert_eq!(stand.origin.total(), 6);
}

#[tokio::test]
async fn a12_a_host_is_one_host_in_any_case() {
    let stand = Stand::of(json!({"key": "required"})).await;
    let who = |host| Who {
        tenant: "acme",
        account: "amy",
        host,
        path: CHARGES,
        method: "POST",
    };
    let first = who("api.example").ask(&stand).await;
    for same in ["API.example", "api.example.", "api.example.:8080"] {
        is_replay_of(&who(same).ask(&stand).await, &first);
    }
    assert_eq!(stand.origin.total(), 1);
}

#[tokio::test]
async fn a13_strangers_share_no_record() {
    // Who is nobody: no account, an empty one, white space; with a tenant or without.
    let nobody: [&[(&str, &str)]; 5] = [
        &[],
        &[("x-account", "")],
        &[("x-account", "  ")],
        &[("x-tenant", "acme")],
        &[("x-tenant", " "), ("x-account", "")],
    ];
    let mut both = policy(&json!({"key": "required"}));
    let optional = json!({
        "name": "optional", "match": {"path": "/optional"}, "idempotency": {"key": "optional"},
    });
    both["routes"].as_array_mut().unwrap().push(optional);
    let stand = Stand::start(&both, |b| b).await;
    for (path, status) in [(CHARGES, 401), ("/optional", 200)] {
        for (n, lines) in nobody.iter().enumerate() {
            for _ in 0..2 {
                let mut call = nameless(&Client::h1(), Method::POST, &stand.envoy, path);
                for (name, value) in *lines {
                    call = call.header(name, value);
                }
                let answer = keyed(call).send().await.unwrap();
                assert!(!is_replay(&answer), "{path} {n}: {answer:?}");
                if status == 401 {
                    is_problem(&answer, 401, "identity-required");
                } else {
                    assert_eq!(answer.status, 200, "{n}: {answer:?}");
                }
            }
        }
        let ran = if status == 401 { 0 } else { 10 };
        assert_eq!(stand.origin.count(path), ran, "{path}");
    }
}
