//! What is shown of caches: the leak without the gate, and each customer's own copies with it.

use anyhow::Result;
use http::StatusCode;
use tidegate_e2e::envoy::Cache;
use tidegate_e2e::{Answer, Client, Envoy, Origin, Reply};

use crate::checks::Checks;
use crate::show;

const PATH: &str = "/orders";

/// What is asked for. The query is there to see that it reaches the origin as it was sent.
const TARGET: &str = "/orders?page=1";

/// The policy of the Envoy that has a gate before its cache.
const POLICY: &str = include_str!("storefront.json");

/// What many an API says of all its answers, whomever they are made for.
const SHARED: &str = "public, max-age=60";

/// The same cache twice.
pub(crate) struct Copies {
    bare: Envoy,
    gated: Envoy,
}

impl Copies {
    /// Tells it all. An expectation that fails does not end the story.
    pub(crate) async fn tell(origin: &Origin, checks: &mut Checks) -> Result<Self> {
        let reply = Reply::status(StatusCode::OK).header("cache-control", SHARED);
        origin.answer(PATH, reply.customer("x-api-key"));
        let builder = Envoy::builder()
            .concurrency(2)
            .origin(origin)
            .cache(Cache::V2);
        let bare = builder.start().await?;
        let builder = Envoy::builder()
            .concurrency(2)
            .origin(origin)
            .cache(Cache::V2)
            .policy_text(POLICY)
            .origin_role()
            .environment("TIDEGATE_SCOPE_KEY", "known to this demo alone");
        let gated = builder.start().await?;
        leak(&Shop::of(&bare, origin), checks).await?;
        own(&Shop::of(&gated, origin), checks).await?;
        nobody(&Shop::of(&gated, origin), checks).await?;
        Ok(Self { bare, gated })
    }

    /// Where to go on by hand.
    pub(crate) fn addresses(&self) {
        println!("\n  copies, for amy and then for ben:");
        for (envoy, which) in [(&self.bare, "no gate"), (&self.gated, "behind the gate")] {
            let url = envoy.at(TARGET);
            println!("  curl -i -H 'x-api-key: amy' '{url}'  # {which}");
        }
    }
}

/// Asks one Envoy, and looks whether the origin was asked too.
struct Shop<'a> {
    envoy: &'a Envoy,
    origin: &'a Origin,
    client: Client,
}

impl<'a> Shop<'a> {
    fn of(envoy: &'a Envoy, origin: &'a Origin) -> Self {
        let client = Client::h1();
        Self {
            envoy,
            origin,
            client,
        }
    }

    /// The answer, and whether it is a copy: the origin was not asked.
    async fn get(&self, who: &str, key: Option<&str>) -> Result<(Answer, bool)> {
        let before = self.origin.count(PATH);
        let mut call = self.client.get(self.envoy.at(TARGET));
        if let Some(key) = key {
            call = call.header("x-api-key", key);
        }
        let answer = call.send().await?;
        let copy = self.origin.count(PATH) == before;
        show::copy(who, TARGET, &answer, copy);
        Ok((answer, copy))
    }
}

async fn leak(shop: &Shop<'_>, checks: &mut Checks) -> Result<()> {
    show::chapter("another Envoy has a cache and no gate: ben gets what was made for amy");
    println!("  The origin says `{SHARED}` of its answers, and names the customer in them.");
    println!("  The cache knows a copy by its URL and by nothing else.\n");
    let (mine, _) = shop.get("amy", Some("amy")).await?;
    let (theirs, copy) = shop.get("ben", Some("ben")).await?;
    checks.expect(is_for(&mine, "amy"), "without the gate, amy gets her own");
    checks.expect(
        copy && is_for(&theirs, "amy"),
        "without the gate, ben gets the copy that was made for amy",
    );
    Ok(())
}

async fn own(shop: &Shop<'_>, checks: &mut Checks) -> Result<()> {
    show::chapter("the same cache behind the gate, with this policy: each has copies of their own");
    println!("{POLICY}");
    for who in ["amy", "ben"] {
        let (answer, copy) = shop.get(who, Some(who)).await?;
        checks.expect(
            !copy && is_for(&answer, who),
            format!("behind the gate, {who}'s first answer is made for {who}"),
        );
        untouched(shop, &format!("{who}'s request"), checks);
        private(&answer, &format!("{who}'s first answer"), checks);
    }
    let (again, copy) = shop.get("amy", Some("amy")).await?;
    show::whole(&again);
    let hit = again.header("cache-status") == Some("tidegate; hit");
    checks.expect(
        copy && hit && is_for(&again, "amy"),
        "behind the gate, amy's second answer is a hit, and hers",
    );
    private(&again, "amy's copy", checks);
    let (theirs, copy) = shop.get("ben", Some("ben")).await?;
    checks.expect(
        copy && is_for(&theirs, "ben"),
        "behind the gate, ben's second answer is a copy, and his",
    );
    Ok(())
}

async fn nobody(shop: &Shop<'_>, checks: &mut Checks) -> Result<()> {
    show::chapter("who has no key is nobody: gets no copy and leaves none");
    for n in 1..=2 {
        let (answer, copy) = shop.get("guest", None).await?;
        let bypass = answer.header("cache-status") == Some("tidegate; fwd=bypass");
        checks.expect(
            !copy && bypass && answer.text() == r#"{"customer":null}"#,
            format!("the guest's request {n} passes the cache by"),
        );
        private(&answer, &format!("the guest's answer {n}"), checks);
    }
    Ok(())
}

/// Whether an answer was made for this customer.
fn is_for(answer: &Answer, who: &str) -> bool {
    let customer = answer.json().unwrap_or_default();
    answer.status == 200 && customer.get("customer").is_some_and(|name| name == who)
}

/// The origin got the last request as it was sent: nothing of the gate's was left in it.
fn untouched(shop: &Shop<'_>, whose: &str, checks: &mut Checks) {
    let last = shop.origin.last(PATH);
    checks.expect(
        last.is_some_and(|seen| {
            let ours = |name: &http::HeaderName| name.as_str().starts_with("x-tidegate-");
            seen.path == TARGET && !seen.headers.keys().any(ours)
        }),
        format!("{whose} reaches the origin as it was sent"),
    );
}

/// A cache further down must not share the answer, and nothing of the gate's is left in it.
fn private(answer: &Answer, what: &str, checks: &mut Checks) {
    let control = answer.header("cache-control").unwrap_or_default();
    let mut directives = control.split(',').map(str::trim);
    checks.expect(
        directives.clone().any(|directive| directive == "private")
            && !directives.any(|directive| directive == "public"),
        format!("{what} is `private` to the caller"),
    );
    let ours = |name: &http::HeaderName| name.as_str().starts_with("x-tidegate-");
    checks.expect(
        !answer.headers.keys().any(ours),
        format!("{what} shows nothing of the seal"),
    );
}
