//! What is shown: a burst, the refusal, the wait, the retry, a neighbour, and guests.

use anyhow::{Context, Result};
use serde_json::Value;
use tidegate_e2e::structured::list;
use tidegate_e2e::{Answer, Client, Envoy, Origin};

use crate::checks::Checks;
use crate::show;

const PATH: &str = "/hello";

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// No burst of a policy to be shown is larger.
const MANY: u64 = 100;

/// Tells it all. An expectation that fails does not end the story.
pub(crate) async fn tell(
    envoy: &Envoy,
    origin: &Origin,
    policy: &Value,
    checks: &mut Checks,
) -> Result<()> {
    let burst = policy
        .pointer("/limits/account/burst")
        .and_then(Value::as_u64)
        .filter(|burst| (1..=MANY).contains(burst))
        .context("the policy's limit `account` has no `burst` from 1 to 100")?;
    let home = Client::h1();
    let get = async |who: &str, client: &Client, key: Option<&str>| {
        let mut call = client.get(envoy.at(PATH));
        if let Some(key) = key {
            call = call.header("x-api-key", key);
        }
        let answer = call.send().await?;
        show::line(who, PATH, &answer);
        Ok::<_, anyhow::Error>(answer)
    };

    show::chapter(&format!("amy may burst: {burst} requests at once"));
    for n in 1..=burst {
        let answer = get("amy", &home, Some("amy")).await?;
        checks.expect(
            answer.status == 200,
            format!("request {n} of amy's burst of {burst} is admitted"),
        );
    }

    show::chapter("one more is refused, and the answer says when to come back");
    let before = origin.total();
    let refused = get("amy", &home, Some("amy")).await?;
    show::whole(&refused);
    refusal(&refused, "amy's", checks);
    checks.expect(
        origin.total() == before,
        "a refused request never reaches the origin",
    );
    let seconds = refused.retry_after().unwrap_or(1).min(MANY);

    show::chapter("meanwhile ben, another account, has his whole burst");
    for n in 1..=burst {
        let answer = get("ben", &home, Some("ben")).await?;
        checks.expect(
            answer.status == 200,
            format!("request {n} of ben's burst is admitted while amy is refused"),
        );
    }

    show::chapter("amy comes back exactly then, and is admitted");
    show::wait(seconds).await;
    let retry = get("amy", &home, Some("amy")).await?;
    checks.expect(
        retry.status == 200,
        format!("amy is admitted after waiting {seconds} s"),
    );

    show::chapter("guests have no account: each address is limited by itself");
    let mut last = get("guest", &home, None).await?;
    checks.expect(last.status == 200, "a guest's first request is admitted");
    for _ in 0..MANY {
        if last.status != 200 {
            break;
        }
        last = get("guest", &home, None).await?;
    }
    refusal(&last, "the guest's", checks);
    let elsewhere = Client::builder().from([127, 0, 0, 2].into()).build_plain();
    let other = get("guest2", &elsewhere, None).await?;
    checks.expect(
        other.status == 200,
        "a guest at another address is admitted while the first is refused",
    );
    Ok(())
}

/// All that a 429 must have.
fn refusal(answer: &Answer, whose: &str, checks: &mut Checks) {
    let mut expect = |holds, what: &str| checks.expect(holds, format!("{whose} refusal {what}"));
    expect(answer.status == 429, "has status 429");
    expect(
        answer.retry_after().is_some_and(|seconds| seconds >= 1),
        "has a Retry-After of at least 1 s",
    );
    expect(
        answer.header("cache-control") == Some("no-store"),
        "is not to be stored",
    );
    let problem = answer.problem().unwrap_or_default();
    expect(
        problem
            .get("type")
            .is_some_and(|kind| kind == QUOTA_EXCEEDED),
        "is a problem document of type quota-exceeded",
    );
    for field in ["ratelimit-policy", "ratelimit"] {
        expect(
            list(&answer.headers, field).is_ok_and(|members| !members.is_empty()),
            &format!("has a well-formed {field}"),
        );
    }
}
