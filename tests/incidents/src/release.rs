//! A release whose steps were typed by hand: half the fleet on new code. And one that is a file, goes through a canary, and is
//! rolled back by itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_core::cases::in_share;
use tidegate_core::policy::Policy;
use tidegate_e2e::envoy::{Reload, default_module};
use tidegate_e2e::{Client, Envoy, Origin, tool};
use tokio::time::{Instant, sleep};

use crate::chart::{Chart, Ink, Series, Spans};
use crate::incident::{Incident, grouped, share};
use crate::pace::{Landed, Load, Shot};
use crate::policies;
use crate::run::Run;
use crate::timeline::Timeline;

/// Accounts, and how far apart the requests of each are: 40 a minute, of the 60 that each may.
const ACCOUNTS: usize = 300;
const EVERY: Duration = Duration::from_millis(1_500);

/// How long nobody looks at a release by hand.
const UNSEEN: Duration = Duration::from_secs(24);

/// When the new version is typed in.
const TYPED: Duration = Duration::from_secs(4);

/// The most that a canary may take; it ends by itself.
const MOST: Duration = Duration::from_secs(240);

/// The digest of the key of an account that has three requests a day.
const DRAINED: &str = "sha256:394f44e7a2ca300565324a937f403fd7b9533555a513102270f71ba57df9d9eb";
const KEY: &str = "drained";

const CANARY: [&str; 8] = [
    "--canary",
    "5,25,100",
    "--hold",
    "1m",
    "--halt-on",
    "refused=5%,5xx=1%",
    "--wait",
    PATIENCE,
];
const PERCENT: u8 = 5;

/// How long a busy machine may take until every worker runs a module.
const PATIENCE: &str = "3min";

/// How many spans the chart has, of a second each.
const SPANS: usize = 40;

/// A release by hand.
struct ByHand {
    landed: Vec<Landed>,
    versions: usize,
}

/// A release by the tool.
struct Shipped {
    landed: Vec<Landed>,
    document: Value,
    status: Option<i32>,
    /// The file of the gate is as it was.
    untouched: bool,
    /// How many of the two Envoys have the very bytes that were packed, and how many went back.
    same_bytes: usize,
    back: usize,
    /// How often a drained account had something again.
    refilled: usize,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let mut dice = run.dice(9);
    let mut first = policies::load("first-limit")?;
    let drained = json!({"account": {DRAINED: {"rate": "1/day", "burst": 3}}});
    let added = policies::add(&mut first, "/limits/account", "overrides", drained)?;
    let mut bad = first.clone();
    let mistake = policies::change(&mut bad, "/limits/account/rate", json!("60/h"))?;
    policies::change(&mut bad, "/version", json!("2-bad"))?;
    let mut good = first.clone();
    policies::change(&mut good, "/version", json!("3"))?;
    let shots = shots(&mut dice);

    let (by_hand, shipped) = tokio::try_join!(
        by_hand(&first, &bad, &shots),
        shipped(&first, &bad, &good, &shots)
    )?;
    let inside = inside(&bad)?;
    let mut incident = Incident {
        number: 9,
        title: "The release that took three days",
        story: "Steps typed by hand, half the fleet on new code. One artifact, tested once, is the same bytes everywhere; a canary halts by itself, \
                and what was mounted before is mounted again.",
        then: "by hand",
        policy: "policies/first-limit",
        scale: vec![
            format!("the new version has a mistake: {mistake}"),
            format!("{added}, for one account whose bucket is watched"),
            format!(
                "two Envoys each; nobody looks at the one by hand for {} s, in place of three days",
                (UNSEEN - TYPED).as_secs()
            ),
        ],
        rows: Vec::new(),
        chart: None,
    };
    compare(&mut incident, &by_hand, &shipped, &inside);
    incident.chart = Some(Chart {
        along: "seconds".to_owned(),
        spans: Spans::Even(1.0),
        up: "requests/s",
        then: (
            "by hand, on one Envoy of two".to_owned(),
            lines(&by_hand.landed, |who| who % 2 == 1),
        ),
        now: (
            format!("Tidegate: a canary of {PERCENT} %"),
            lines(&shipped.landed, |who| inside.contains(&who)),
        ),
    });
    Ok(incident)
}

fn compare(incident: &mut Incident, by_hand: &ByHand, shipped: &Shipped, inside: &BTreeSet<usize>) {
    let refused = |landed: &[Landed]| -> BTreeSet<usize> {
        landed
            .iter()
            .filter(|one| one.status == 429)
            .map(|one| one.shot.who)
            .collect()
    };
    let (then, now) = (refused(&by_hand.landed), refused(&shipped.landed));
    let accounts = ACCOUNTS as u64;
    incident.check(
        format!("of {ACCOUNTS} accounts, refused by the mistake"),
        format!("{} ({})", then.len(), share(then.len() as u64, accounts)),
        format!("{} ({})", now.len(), share(now.len() as u64, accounts)),
        format!("then half; now some of the {} in the share", inside.len()),
        then.len() * 10 >= ACCOUNTS * 4 && !now.is_empty() && now.is_subset(inside),
    );
    let outside = now.difference(inside).count();
    incident.check(
        "accounts outside the share that were refused",
        "-",
        outside,
        "0",
        outside == 0,
    );
    let at = |landed: &[Landed]| landed.iter().filter(|one| one.status == 429).count() as u64;
    incident.figure(
        "requests refused",
        grouped(at(&by_hand.landed)),
        grouped(at(&shipped.landed)),
    );
    let halted = shipped.status == Some(1)
        && shipped.document["outcome"] == "halted"
        && shipped.document["percent"] == PERCENT;
    incident.check(
        "halted by itself",
        "no",
        if halted {
            format!(
                "yes, at {PERCENT} %: {}",
                shipped.document["bound"]["found"].as_str().unwrap_or("?")
            )
        } else {
            "no".to_owned()
        },
        format!("at the first share, {PERCENT} %"),
        halted,
    );
    let word = |yes: bool| if yes { "yes" } else { "no" };
    incident.check(
        "the gate's file is byte for byte what it was",
        "-",
        word(shipped.untouched),
        "yes",
        shipped.untouched,
    );
    incident.check(
        "versions that two Envoys run after a release",
        by_hand.versions,
        if shipped.same_bytes == 2 { 1 } else { 2 },
        "then 2; now 1, the very bytes that were packed",
        by_hand.versions == 2 && shipped.same_bytes == 2,
    );
    incident.check(
        "Envoys that are back at the file before after `tidegate rollback`",
        "-",
        shipped.back,
        "2",
        shipped.back == 2,
    );
    incident.check(
        "Envoys on which a drained account had something again after a release or the way back",
        "-",
        shipped.refilled,
        "0",
        shipped.refilled == 0,
    );
}

fn shots(dice: &mut Rng) -> Vec<Shot> {
    let of = |who| Shot::every(who, EVERY.mul_f64(dice.f64()), EVERY, MOST);
    (0..ACCOUNTS).flat_map(of).collect()
}

fn account(who: usize) -> String {
    format!("account-{who}")
}

fn load(authority: String, shots: Vec<Shot>, stop: &Arc<AtomicBool>) -> Load {
    Load {
        authority,
        from: None,
        connections: 12,
        shots,
        write: Box::new(|shot| {
            format!(
                "GET / HTTP/1.1\r\nhost: api.test\r\nx-api-key: {}\r\n\r\n",
                account(shot.who)
            )
            .into_bytes()
        }),
        returns_until: Duration::ZERO,
        stop: Arc::clone(stop),
    }
}

/// Two Envoys, of which one gets the new version; accounts are spread over both.
async fn by_hand(first: &Value, bad: &Value, shots: &[Shot]) -> Result<ByHand> {
    let origin = Origin::start().await?;
    let start = || {
        Envoy::builder()
            .concurrency(2)
            .origin(&origin)
            .policy(first)
            .ecds()
            .without_access_log()
            .start()
    };
    let fleet = [start().await?, start().await?];
    let stop = Arc::default();
    let begun = Instant::now();
    let of = |place: usize| {
        let own = shots
            .iter()
            .copied()
            .filter(|shot| shot.who % 2 == place && shot.at < UNSEEN);
        load(fleet[place].authority(), own.collect(), &stop).send(begun)
    };
    let typed = async {
        sleep(TYPED).await;
        ensure!(
            fleet[1].update_policy(bad).await? == Reload::Accepted,
            "the new version was refused"
        );
        Ok(())
    };
    let (mut landed, other, ()) = tokio::try_join!(of(0), of(1), typed)?;
    landed.extend(other);
    let mut versions = BTreeSet::new();
    for envoy in &fleet {
        let text = envoy.prometheus().await?;
        let line = text
            .lines()
            .find(|line| line.starts_with("tidegate_policy_info{") && line.ends_with(" 1"));
        versions.insert(line.context("no tidegate_policy_info")?.to_owned());
    }
    Ok(ByHand {
        landed,
        versions: versions.len(),
    })
}

/// An Envoy that is shipped to.
struct Shelf {
    envoy: Envoy,
    _origin: Origin,
}

impl Shelf {
    async fn start(files: &Path) -> Result<Self> {
        let origin = Origin::start().await?;
        let folder = tempfile::Builder::new().prefix("tidegate-e2e-").tempdir()?;
        Envoy::copy_shipped(folder.path(), &origin)?;
        let to = folder
            .path()
            .to_str()
            .context("a path in UTF-8")?
            .to_owned();
        is_done(&tool::run(files, &["ship", "first.wasm", "--to", &to]).await?)?;
        let envoy = Envoy::start_shipped(folder, ".").await?;
        Ok(Self {
            envoy,
            _origin: origin,
        })
    }

    fn authority(&self) -> String {
        self.envoy.shipped_at("").replacen("http://", "", 1)
    }

    async fn tool(&self, files: &Path, arguments: &[&str]) -> Result<Output> {
        let (folder, admin) = (self.envoy.folder(), self.envoy.admin());
        let place = [
            "--to",
            folder.to_str().context("a path in UTF-8")?,
            "--admin",
            &admin,
            "--format",
            "json",
        ];
        tool::run(files, &[arguments, &place].concat()).await
    }

    fn gate(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(
            self.envoy.folder().join("gate.json"),
        )?)?)
    }

    /// The bytes of the module that is mounted.
    fn mounted(&self) -> Result<Vec<u8>> {
        let gate = self.gate()?;
        let file = gate.pointer("/resources/0/typed_config/config/vm_config/code/local/filename");
        let file = file
            .and_then(Value::as_str)
            .context("gate.json names no module")?;
        let file = self.envoy.folder().join(file);
        fs::read(&file).with_context(|| file.display().to_string())
    }

    /// Uses up what the watched account has; whether it had anything.
    async fn has_some(&self) -> Result<bool> {
        for admitted in 0..10 {
            if self.is_drained().await? {
                return Ok(admitted > 0);
            }
        }
        anyhow::bail!("the watched account is never refused")
    }

    async fn is_drained(&self) -> Result<bool> {
        let call = Client::h1()
            .get(self.envoy.shipped_at("/"))
            .header("x-api-key", KEY);
        Ok(call.send().await?.status == 429)
    }
}

async fn shipped(first: &Value, bad: &Value, good: &Value, shots: &[Shot]) -> Result<Shipped> {
    let files = tempfile::tempdir()?;
    for (policy, name) in [
        (first, "first.wasm"),
        (bad, "bad.wasm"),
        (good, "good.wasm"),
    ] {
        pack(&files, policy, name).await?;
    }
    let fleet = [
        Shelf::start(files.path()).await?,
        Shelf::start(files.path()).await?,
    ];
    for shelf in &fleet {
        ensure!(
            shelf.has_some().await?,
            "the watched account has nothing from the start"
        );
    }
    let before = fs::read(fleet[0].envoy.folder().join("gate.json"))?;

    let stop: Arc<AtomicBool> = Arc::default();
    let canary = async {
        let ship = [&["ship", "bad.wasm"], &CANARY[..]].concat();
        let output = fleet[0].tool(files.path(), &ship).await;
        stop.store(true, Ordering::Relaxed);
        output
    };
    let crowd = load(fleet[0].authority(), shots.to_vec(), &stop).send(Instant::now());
    let (landed, output) = tokio::try_join!(crowd, canary)?;
    let document = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let untouched = fs::read(fleet[0].envoy.folder().join("gate.json"))? == before;

    let [one, two] = &fleet;
    let each = async |arguments: &[&str]| -> Result<()> {
        let (first, second) = tokio::try_join!(
            one.tool(files.path(), arguments),
            two.tool(files.path(), arguments)
        )?;
        is_done(&first)?;
        is_done(&second)
    };
    let packed = |name: &str| fs::read(files.path().join(name));
    let mounted = |name: &str| -> Result<usize> {
        let wanted = packed(name)?;
        let same = fleet
            .iter()
            .map(|shelf| Ok(shelf.mounted()? == wanted))
            .collect::<Result<Vec<_>>>()?;
        Ok(same.into_iter().filter(|same| *same).count())
    };
    each(&["ship", "good.wasm", "--wait", PATIENCE]).await?;
    let same_bytes = mounted("good.wasm")?;
    let mut refilled = 0;
    for shelf in &fleet {
        refilled += usize::from(shelf.has_some().await?);
    }
    each(&["rollback", "--wait", PATIENCE]).await?;
    let back = mounted("first.wasm")?;
    for shelf in &fleet {
        refilled += usize::from(shelf.has_some().await?);
    }
    Ok(Shipped {
        landed,
        document,
        status: output.status.code(),
        untouched,
        same_bytes,
        back,
        refilled,
    })
}

async fn pack(files: &TempDir, policy: &Value, name: &str) -> Result<()> {
    let folder = files.path().join(format!("{name}.policy"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("policy.json"), format!("{policy:#}\n"))?;
    let engine = default_module();
    let text = |path: &Path| path.to_str().map(str::to_owned).context("a path in UTF-8");
    let (folder, engine) = (text(&folder)?, text(&engine)?);
    let arguments = ["pack", &folder, "-o", name, "--engine", &engine];
    is_done(&tool::run(files.path(), &arguments).await?)
}

fn is_done(output: &Output) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "tidegate ended with {}: {said}",
        output.status
    );
    Ok(())
}

/// The accounts that the canary's first share holds.
fn inside(document: &Value) -> Result<BTreeSet<usize>> {
    let mut document = document.clone();
    policies::add(&mut document, "", "canary", json!({"percent": PERCENT}))?;
    let policy = Policy::parse(document.to_string().as_bytes())
        .map_err(|mistakes| anyhow::anyhow!("{mistakes:?}"))?;
    let inside = |who: &usize| in_share(&policy, &[(b"x-api-key", account(*who).as_bytes())]);
    Ok((0..ACCOUNTS).filter(inside).collect())
}

fn lines(landed: &[Landed], new: impl Fn(usize) -> bool) -> Vec<Series> {
    let rows = [
        ("accounts that meet the new version: admitted", Ink::Sky),
        ("accounts that meet it: refused", Ink::Vermilion),
        ("others: admitted", Ink::Green),
        ("others: refused", Ink::Purple),
    ];
    let mut timeline = Timeline::new(1.0, SPANS, &rows);
    for one in landed
        .iter()
        .filter(|one| one.heard.as_secs_f64() < SPANS as f64)
    {
        let row = 2 * usize::from(!new(one.shot.who)) + usize::from(one.status != 200);
        timeline.add(row, one.heard.as_secs_f64());
    }
    timeline.per_second()
}
