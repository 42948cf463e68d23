//! Several limits at once: a request that one of them refuses is charged to none, however many try at the same time.

use tidegate_e2e::{Client, Envoy, flood, structured};

use crate::{CONNECTIONS, WORKERS, admitted, conclude, start};

const ACCOUNTS: usize = 20;

/// Each account sends as many; less than its own bucket holds, and together more than the ceiling.
const EACH: usize = 15;

/// How many requests of each account to `path` were admitted.
async fn rush(envoy: &Envoy, path: &str, tenant: &'static str) -> Vec<u64> {
    let url = envoy.at(path);
    let answers = flood(CONNECTIONS, ACCOUNTS * EACH, move |client, number| {
        let account = (number % ACCOUNTS).to_string();
        client
            .get(&url)
            .header("x-tenant", tenant)
            .header("x-account", account)
    });
    let answers = answers.await.unwrap();
    let of = |account| {
        let own = answers.iter().skip(account).step_by(ACCOUNTS).cloned();
        admitted(&own.collect::<Vec<_>>())
    };
    (0..ACCOUNTS).map(of).collect()
}

/// What a bucket held before one more request, by which it is asked.
async fn left(envoy: &Envoy, path: &str, tenant: &str, account: usize) -> u64 {
    let call = Client::h1().get(envoy.at(path)).header("x-tenant", tenant);
    let answer = call
        .header("x-account", account.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let left = structured::remaining(&answer.headers).unwrap();
    assert_eq!(left.len(), 1);
    left[0].1 + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn b8_a_ceiling_admits_exactly_its_burst_and_charges_accounts_for_no_more() {
    for workers in WORKERS {
        let (envoy, origin) = start(workers).await;
        // In the second order accounts are charged first, and what the ceiling then refuses is taken back.
        for (path, tenant) in [("/ceiling-first", "one"), ("/account-first", "two")] {
            let admitted = rush(&envoy, path, tenant).await;
            assert_eq!(
                admitted.iter().sum::<u64>(),
                60,
                "{path}, {workers} workers"
            );
            assert_eq!(origin.count(path), 60);
            for (account, admitted) in admitted.iter().enumerate() {
                let left = left(&envoy, "/left-of-account", tenant, account).await;
                assert_eq!(
                    left,
                    20 - admitted,
                    "{path}, account {account}, {workers} workers"
                );
            }
        }
        conclude("a ceiling over accounts", workers, &envoy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b8_accounts_are_admitted_exactly_their_bursts_and_the_tenant_is_charged_for_no_more() {
    for workers in WORKERS {
        let (envoy, origin) = start(workers).await;
        let admitted = rush(&envoy, "/wide", "three").await;
        assert_eq!(admitted, [5; ACCOUNTS], "{workers} workers");
        assert_eq!(origin.count("/wide"), 100);
        let left = left(&envoy, "/left-of-wide", "three", 0).await;
        assert_eq!(left, 900, "{workers} workers");
        conclude("accounts under a wide tenant", workers, &envoy).await;
    }
}
