//! What is shown of charges: the double one without the gate, and the one that is made with it.

use std::time::Duration;

use anyhow::{Context, Result};
use http::StatusCode;
use tidegate_e2e::client::Call;
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply};

use crate::checks::Checks;
use crate::show;

const PATH: &str = "/charges";

/// One key for each thing that is wanted once; the client makes it up, and sends it again when it tries again.
const KEY: &str = "amy-order-1";

/// What amy owes, in dollars.
const OWED: u32 = 340;

/// What is asked for with the same key afterwards.
const MORE: u32 = 350;

/// How long the origin takes to say that it has charged.
const TAKES: Duration = Duration::from_millis(400);

/// How long the client waits for that.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a request may be on its way to the origin, on a machine that is busy.
const ON_ITS_WAY: Duration = Duration::from_secs(10);

/// The longest wait for a retry.
const LONGEST: u64 = 10;

/// The policy of the Envoy that has a gate.
const POLICY: &str = include_str!("charges.json");

/// The same origin behind two Envoys.
pub(crate) struct Charges {
    bare: Envoy,
    gated: Envoy,
}

impl Charges {
    /// Tells it all. An expectation that fails does not end the story.
    pub(crate) async fn tell(origin: &Origin, checks: &mut Checks) -> Result<Self> {
        let reply = Reply::status(StatusCode::CREATED).body(r#"{"charged":true}"#);
        origin.answer(PATH, reply.after(TAKES));
        let builder = Envoy::builder().concurrency(2).origin(origin);
        let bare = builder.start().await?;
        let builder = Envoy::builder()
            .concurrency(2)
            .origin(origin)
            .policy_text(POLICY);
        let gated = builder.start().await?;
        twice(&Till::of(&bare, origin), checks).await?;
        once(&Till::of(&gated, origin), checks).await?;
        Ok(Self { bare, gated })
    }

    /// Where to go on by hand.
    pub(crate) fn addresses(&self) {
        println!("\n  charges, to be sent twice; with `-m 0.1` the client gives up:");
        for (envoy, which) in [(&self.bare, "no gate"), (&self.gated, "behind the gate")] {
            let url = envoy.at(PATH);
            println!(
                "  curl -i -H 'x-api-key: amy' -H 'idempotency-key: by-hand' -d '{}' '{url}'  # {which}",
                body(OWED)
            );
        }
    }
}

/// Charges through one Envoy, and counts what the origin charged.
struct Till<'a> {
    envoy: &'a Envoy,
    origin: &'a Origin,
    client: Client,
    /// What the origin had charged before.
    before: u64,
}

impl<'a> Till<'a> {
    fn of(envoy: &'a Envoy, origin: &'a Origin) -> Self {
        Self {
            envoy,
            origin,
            client: Client::h1(),
            before: origin.count(PATH),
        }
    }

    /// How often the origin charged. It does so as soon as it is asked.
    fn charges(&self) -> u64 {
        self.origin.count(PATH).saturating_sub(self.before)
    }

    fn call(&self, dollars: u32) -> Call {
        self.client
            .post(self.envoy.at(PATH))
            .header("x-api-key", "amy")
            .header("idempotency-key", KEY)
            .header("content-type", "application/json")
            .body(body(dollars))
    }

    async fn charge(&self, dollars: u32) -> Result<Answer> {
        let answer = self.call(dollars).send().await?;
        show::charge("amy", PATH, dollars, &answer, self.charges());
        Ok(answer)
    }

    /// Whether it could hang up before there is an answer. Not before the origin has the request: that is what this is about.
    async fn give_up(&self, dollars: u32) -> Result<bool> {
        let before = self.origin.count(PATH);
        let arrived = async {
            tokio::time::sleep(PATIENCE).await;
            while self.origin.count(PATH) == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let call = self.call(dollars).send();
        tokio::select! {
            answer = call => {
                show::charge("amy", PATH, dollars, &answer?, self.charges());
                Ok(false)
            }
            arrived = tokio::time::timeout(ON_ITS_WAY, arrived) => {
                arrived.context("the charge never reached the origin")?;
                show::gave_up("amy", PATH, dollars, PATIENCE, self.charges());
                Ok(true)
            }
        }
    }
}

async fn twice(till: &Till<'_>, checks: &mut Checks) -> Result<()> {
    show::chapter("amy pays, gives up, and tries again: without the gate she pays twice");
    println!(
        "  The origin charges as soon as it is asked, and takes {} ms to say so. Amy's client waits {} ms.\n",
        TAKES.as_millis(),
        PATIENCE.as_millis()
    );
    let gave_up = till.give_up(OWED).await?;
    checks.expect(gave_up, "without the gate, amy gives up before the answer");
    let again = till.charge(OWED).await?;
    checks.expect(
        again.status == 201 && till.charges() == 2,
        "without the gate, amy's second try is a second charge",
    );
    Ok(())
}

async fn once(till: &Till<'_>, checks: &mut Checks) -> Result<()> {
    show::chapter("the same behind the gate, with this policy: the charge outlives the client");
    println!("{POLICY}");
    let gave_up = till.give_up(OWED).await?;
    checks.expect(gave_up, "behind the gate, amy gives up before the answer");
    let early = till.charge(OWED).await?;
    checks.expect(
        early.status == 409 && early.retry_after().is_some_and(|seconds| seconds >= 1),
        "amy's retry while her charge runs gets 409 and a Retry-After",
    );
    checks.expect(
        is_problem(&early, "request-in-progress"),
        "the 409 is a problem document of type request-in-progress",
    );
    show::wait(early.retry_after().unwrap_or(1).min(LONGEST)).await;
    let replay = till.charge(OWED).await?;
    show::whole(&replay);
    for (answer, which) in [(&replay, "next"), (&till.charge(OWED).await?, "last")] {
        checks.expect(
            answer.status == 201 && answer.text() == r#"{"charged":true}"#,
            format!("amy's {which} try gets the answer to the charge that she gave up on"),
        );
        checks.expect(
            answer.header("idempotent-replayed") == Some("true"),
            format!("the answer to amy's {which} try is marked as a replay"),
        );
    }
    checks.expect(
        till.charges() == 1,
        "behind the gate, the origin charged once for four requests",
    );

    show::chapter("the same key with another amount is refused");
    let other = till.charge(MORE).await?;
    show::whole(&other);
    checks.expect(
        other.status == 422 && is_problem(&other, "idempotency-key-reused"),
        "the same key for another amount is refused: 422, idempotency-key-reused",
    );
    checks.expect(
        till.charges() == 1,
        "behind the gate, the origin charged once in all",
    );
    Ok(())
}

/// As an API asks for it, in cents.
fn body(dollars: u32) -> String {
    format!(
        r#"{{"amount":{},"currency":"usd"}}"#,
        dollars.saturating_mul(100)
    )
}

/// Whether it is a problem document whose type ends in this.
fn is_problem(answer: &Answer, kind: &str) -> bool {
    let problem = answer.problem().unwrap_or_default();
    let found = problem.get("type").and_then(serde_json::Value::as_str);
    found.is_some_and(|found| found.ends_with(kind))
}
