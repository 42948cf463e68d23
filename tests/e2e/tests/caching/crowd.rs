//! Many callers of every kind at once, each with copies of its own.

use std::collections::HashSet;

use serde_json::json;
use tidegate_e2e::client::Call;
use tidegate_e2e::envoy::ClientCertificates;
use tidegate_e2e::jwt::Issuer;
use tidegate_e2e::tls::Authority;
use tidegate_e2e::{Answer, Client, flood};

use crate::stand::{Kind, Setup};
use crate::{PUBLIC, SAY, all, is_clean, lines};

const URLS: usize = 20;
const ROUNDS: usize = 3;
const CONNECTIONS: usize = 16;
const WORKERS: u32 = 2;

/// How a caller shows who it is. Callers of different kinds have the same names.
#[derive(Clone)]
enum Credential {
    Token(String),
    Key,
    Cookie,
    Certificate(Box<Client>),
}

#[derive(Clone)]
struct Caller {
    name: String,
    credential: Credential,
}

/// Where the origin sees a caller's name, by kind: the token is gone by then, so Envoy adds its subject.
const SEEN: [&str; 4] = ["x-subject", "x-api-key", "cookie", "x-uri"];

impl Caller {
    fn call(&self, client: &Client, plain: &str, tls: &str, path: &str) -> Call {
        match &self.credential {
            Credential::Token(token) => client.get(format!("{plain}{path}")).bearer(token),
            Credential::Key => client
                .get(format!("{plain}{path}"))
                .header("x-api-key", &self.name),
            Credential::Cookie => client
                .get(format!("{plain}{path}"))
                .header("cookie", format!("theme=dark; sid={}", self.name)),
            Credential::Certificate(client) => client.get(format!("{tls}{path}")),
        }
    }

    /// Kind and name as the origin sees them.
    fn seen(&self) -> (String, String) {
        let (kind, name) = match &self.credential {
            Credential::Token(_) => (0, self.name.clone()),
            Credential::Key => (1, self.name.clone()),
            Credential::Cookie => (2, format!("theme=dark; sid={}", self.name)),
            Credential::Certificate(_) => (3, uri(&self.name)),
        };
        (SEEN[kind].to_owned(), name)
    }
}

fn uri(name: &str) -> String {
    format!("spiffe://e2e/{name}")
}

/// Whom the origin saw, by its echo.
fn owner(answer: &Answer) -> (String, String) {
    let echo = answer.json().unwrap();
    let headers: Vec<(String, String)> = serde_json::from_value(echo["headers"].clone()).unwrap();
    let known = headers
        .into_iter()
        .filter(|(name, value)| SEEN.contains(&name.as_str()) && value != "-");
    let known: Vec<_> = known.collect();
    assert_eq!(known.len(), 1, "{known:?}");
    known[0].clone()
}

/// Fifty callers.
fn callers(issuer: &Issuer, authority: &Authority) -> Vec<Caller> {
    let some = |count: usize, credential: &dyn Fn(&str) -> Credential| -> Vec<Caller> {
        let names = (0..count).map(|n| format!("caller-{n}"));
        names
            .map(|name| Caller {
                credential: credential(&name),
                name,
            })
            .collect()
    };
    let token = |name: &str| Credential::Token(issuer.token(json!({"sub": name})).unwrap());
    let certificate = |name: &str| {
        let identity = authority.client(&[&uri(name)]).unwrap();
        let client = Client::builder().build_tls(authority, Some(&identity));
        Credential::Certificate(Box::new(client.unwrap()))
    };
    [
        some(15, &token),
        some(15, &|_| Credential::Key),
        some(15, &|_| Credential::Cookie),
        some(5, &certificate),
    ]
    .concat()
}

/// The same order each time, that of no loop.
fn shuffled(mut all: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..all.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.swap(last, usize::try_from(state % (last as u64 + 1)).unwrap());
    }
    all
}

/// Has Envoy tell the origin who is calling, where the caller itself does not.
fn introduces() -> serde_json::Value {
    let add = |name: &str, value: &str| {
        json!({"append": {
            "header": {"key": name, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
        }})
    };
    json!({
        "name": "envoy.filters.http.header_mutation",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
            "mutations": {"request_mutations": [
                add(SEEN[0], "%DYNAMIC_METADATA(envoy.filters.http.jwt_authn:jwt_payload:sub)%"),
                add(SEEN[3], "%DOWNSTREAM_PEER_URI_SAN%"),
            ]},
        },
    })
}

async fn crowd(kind: Kind) {
    if kind.skipped() {
        return;
    }
    let issuer = Issuer::new("https://idp.test").unwrap();
    let authority = Authority::new().unwrap();
    let server = authority.server().unwrap();
    let callers = callers(&issuer, &authority);
    let stand = Setup::new(kind)
        .gate(|gate| {
            gate.concurrency(WORKERS)
                .jwt(issuer)
                .tls(&authority, &server, ClientCertificates::Optional)
                .filter_before(introduces())
        })
        .start()
        .await;

    let each = (0..callers.len()).flat_map(|caller| (0..URLS).map(move |url| (caller, url)));
    let each: Vec<_> = each.collect();
    let order = shuffled(each.repeat(ROUNDS));
    let path = |url: usize| format!("/mine/{url}?of=all&u={url}");
    let answers = {
        let (callers, order) = (callers.clone(), order.clone());
        let (plain, tls) = (stand.gate.url(), stand.gate.url_tls());
        flood(CONNECTIONS, order.len(), move |client, n| {
            let (caller, url) = order[n];
            let call = callers[caller].call(client, &plain, &tls, &path(url));
            call.header(SAY, lines(PUBLIC))
        })
        .await
        .unwrap()
    };
    for ((caller, url), answer) in order.iter().zip(&answers) {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(owner(answer), callers[*caller].seen());
        assert_eq!(answer.json().unwrap()["path"], path(*url));
        is_clean(answer);
        assert_eq!(all(answer, "cache-control"), "private, max-age=600");
        assert!(!all(answer, "vary").contains("tidegate"), "{answer:?}");
    }

    // What is asked for again is a hit, but for neighbours that asked at the same time.
    let most = (each.len() as u64) * 11 / 10;
    let executed = stand.origin.total();
    assert!(executed >= each.len() as u64, "{executed}");
    assert!(executed <= most, "{executed} executions, at most {most}");
    let paths: HashSet<String> = (0..URLS).map(path).collect();
    for url in 0..URLS {
        for seen in stand.origin.seen(&format!("/mine/{url}")) {
            assert!(paths.contains(&seen.path), "{seen:?}");
            assert!(!seen.headers.contains_key("authorization"), "{seen:?}");
            // Where Varnish stands alone the application sees what the cache is told; its file says so.
            let ours = seen
                .headers
                .keys()
                .any(|name| name.as_str().starts_with("x-tidegate"));
            assert_eq!(ours, kind == Kind::NoSidecar, "{seen:?}");
        }
    }
    assert_eq!(stand.mismatches().await, 0);
}

#[tokio::test]
async fn c1_c2_c3_c13_nobody_gets_a_copy_of_another_of_cache_v2() {
    crowd(Kind::V2).await;
}

#[tokio::test]
async fn c1_c2_c3_c13_nobody_gets_a_copy_of_another_of_the_older_cache() {
    crowd(Kind::V1).await;
}

#[tokio::test]
async fn c1_c2_c3_nobody_gets_a_copy_of_another_of_varnish() {
    crowd(Kind::Varnish).await;
}

#[tokio::test]
async fn c1_c2_c3_nobody_gets_a_copy_of_another_of_varnish_without_a_sidecar() {
    crowd(Kind::NoSidecar).await;
}

#[tokio::test]
async fn c1_c2_c3_nobody_gets_a_copy_of_another_of_nginx() {
    crowd(Kind::Nginx).await;
}
