//! Hundreds of students behind one address, all with their own accounts; and twelve days later the same at another layer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use tidegate_core::identity::sign_address;
use tidegate_e2e::{Client, Envoy, Origin, repo};
use tokio::time::Instant;

use crate::chart::{Chart, Ink, Series, Spans};
use crate::incident::{Incident, grouped, share};
use crate::pace::{Landed, Load, Shot, Write};
use crate::run::{AHEAD, Run};
use crate::timeline::Timeline;
use crate::{guards, policies};

/// Students behind the school's address, and how far apart each one's requests are: 20 a minute, of the 30 that an account may.
const STUDENTS: usize = 300;
const EVERY: Duration = Duration::from_secs(3);

/// How long the exam is watched, and how many seconds of it pass in one.
const EXAM: Duration = Duration::from_secs(60);
const SHORTER: u32 = 8;

/// What the limit by address gave one address: 600 a minute.
const BY_ADDRESS: u64 = 600;

/// What the layer behind gave one address, in a minute: of 6,800 requests, 74 % are too many.
const BEHIND: u64 = 1_768;

/// Guests behind the front, who have no account: each with an address of its own.
const GUESTS: usize = 40;

const SCHOOL: &str = "127.0.0.9";
const KEY: &str = "the key of the front";

/// Who took over the address that used to be trusted sends so many requests.
const FORGED: usize = 200;

struct Layer {
    students: Vec<Landed>,
    guests: Vec<Landed>,
}

pub(crate) async fn replay(run: Run) -> Result<Incident> {
    let mut dice = run.dice(5);
    let policy = policies::load("guests")?;
    let mut signed = policy.clone();
    let added = policies::add(
        &mut signed,
        "/identity/address",
        "signed",
        json!({"header": "x-client-address", "key_env": "FRONT_KEY"}),
    )?;
    let scale = vec![
        format!(
            "one minute in which {SHORTER} seconds pass in one: the buckets of `local_ratelimit` are full when it begins and are not filled again within it; \
             Tidegate's clock is moved, and its policy is not scaled"
        ),
        format!("for the layer behind the front {added}"),
        format!(
            "the limit of the layer behind is {} a minute for each address, so that about 74 % is refused, as was then",
            grouped(BEHIND)
        ),
    ];
    let plan = Plan::throw(&mut dice);

    let origin = Origin::start().await?;
    let limited = async |tokens| {
        let builder = Envoy::builder().origin(&origin);
        let builder = builder.filter_before(guards::by_address(tokens));
        builder.without_access_log().start().await
    };
    let envoy = limited(BY_ADDRESS).await?;
    let then = plan
        .send(&envoy, false, false)
        .await
        .context("a limit by address")?;
    drop(envoy);
    let envoy = limited(BEHIND).await?;
    let behind_then = plan
        .send(&envoy, false, true)
        .await
        .context("a limit by address behind a front")?;
    drop(envoy);
    // It believes whatever stands at the address of a front that once was there.
    let trusting = Envoy::builder()
        .origin(&origin)
        .trusted_hops(1)
        .filter_before(guards::by_address(3));
    let trusting = trusting.start().await?;
    let taken_over_then =
        forge(&trusting, "x-forwarded-for", |n| format!("198.51.100.{n}")).await?;
    drop(trusting);

    let mut incident = Incident {
        number: 5,
        title: "The exam hall",
        story: "Hundreds of students behind one school's address, all with their own accounts; a limit by address refuses them in the middle of \
                an exam. Twelve days later again, at another layer: the backend saw one proxy's address for everyone, and 74 % of the calls to \
                one endpoint got 429.",
        then: "local_ratelimit by address",
        policy: "policies/guests",
        scale,
        rows: Vec::new(),
        chart: None,
    };
    let module = repo().join("dist/tidegate-test.wasm");
    let gate = |policy: &Value| {
        let builder = Envoy::builder()
            .concurrency(2)
            .origin(&origin)
            .policy(policy);
        builder
            .module(&module)
            .environment("FRONT_KEY", KEY)
            .without_access_log()
    };
    let envoy = gate(&policy).start().await?;
    let now = plan.send(&envoy, true, false).await.context("Tidegate")?;
    drop(envoy);
    let envoy = gate(&signed).start().await?;
    let behind_now = plan
        .send(&envoy, true, true)
        .await
        .context("Tidegate behind a front")?;
    drop(envoy);
    let envoy = gate(&signed).start().await?;
    let taken_over = taken_over(&envoy).await?;

    compare(
        &mut incident,
        "in the exam",
        &then.students,
        &now.students,
        false,
    );
    compare(
        &mut incident,
        "twelve days later, behind the front",
        &behind_then.students,
        &behind_now.students,
        true,
    );
    let refused = |landed: &[Landed]| landed.iter().filter(|one| one.status == 429).count() as u64;
    incident.check(
        format!(
            "guests behind the front, {} requests within their own limits: 429s",
            grouped(behind_now.guests.len() as u64)
        ),
        grouped(refused(&behind_then.guests)),
        grouped(refused(&behind_now.guests)),
        "0",
        refused(&behind_now.guests) == 0 && !behind_now.guests.is_empty(),
    );
    incident.check(
        "the trusted address has another owner: admitted with addresses made up",
        format!("{taken_over_then} of {FORGED}"),
        format!("{} of {FORGED}", taken_over.forged),
        "then all; now none",
        taken_over_then == FORGED && taken_over.forged == 0,
    );
    // A unit comes back every two seconds.
    let most = 3 + 1 + taken_over.bare_took.as_secs() / 2;
    incident.check(
        "without the header: admitted as the address that it has",
        "-",
        format!("{} of {FORGED}", taken_over.bare),
        format!("one guest's burst of 3, and what comes back meanwhile: {most} at most"),
        (3..=most).contains(&(taken_over.bare as u64)),
    );
    incident.check(
        "a signature of twelve days ago: admitted",
        "-",
        taken_over.old,
        "0",
        taken_over.old == 0,
    );
    incident.chart = Some(Chart {
        along: "seconds of the exam; then twelve days later, behind the front".to_owned(),
        spans: Spans::Even(2.0),
        up: "requests/s",
        then: (
            "local_ratelimit by address".to_owned(),
            lines(&then, &behind_then),
        ),
        now: ("Tidegate".to_owned(), lines(&now, &behind_now)),
    });
    Ok(incident)
}

fn compare(incident: &mut Incident, when: &str, then: &[Landed], now: &[Landed], most: bool) {
    let refused = |landed: &[Landed]| landed.iter().filter(|one| one.status == 429).count() as u64;
    let shown = |landed: &[Landed]| {
        format!(
            "{} ({})",
            grouped(refused(landed)),
            share(refused(landed), landed.len() as u64)
        )
    };
    let outage = if most {
        refused(then) * 10 > then.len() as u64 * 6
    } else {
        refused(then) > 0
    };
    incident.check(
        format!(
            "{when}, {STUDENTS} students within their own limits, {} requests: 429s",
            grouped(now.len() as u64)
        ),
        shown(then),
        shown(now),
        if most {
            "then most; now 0"
        } else {
            "then some; now 0"
        },
        outage && refused(now) == 0 && now.iter().all(|one| one.status == 200),
    );
}

/// When each student and each guest sends.
struct Plan {
    students: Vec<Shot>,
    guests: Vec<Shot>,
}

impl Plan {
    fn throw(dice: &mut Rng) -> Self {
        let mut shots = |count: usize| {
            let of = |who| Shot::every(who, EVERY.mul_f64(dice.f64()), EVERY, EXAM);
            let shorter = |shot: Shot| Shot {
                at: shot.at / SHORTER,
                ..shot
            };
            (0..count).flat_map(of).map(shorter).collect()
        };
        Self {
            students: shots(STUDENTS),
            guests: shots(GUESTS),
        }
    }

    /// Sends all of it from one address. With `moved` the module's clock goes as the exam does. Behind the front there are guests
    /// too, whose addresses it signs.
    async fn send(&self, envoy: &Envoy, moved: bool, behind: bool) -> Result<Layer> {
        let clock = move |shot: &Shot| {
            let ahead = shot.at * (SHORTER - 1);
            if moved {
                format!("{AHEAD}: {}\r\n", ahead.as_millis())
            } else {
                String::new()
            }
        };
        let students = move |shot: &Shot| {
            let line = format!(
                "GET /exam/answers HTTP/1.1\r\nhost: exam.test\r\ncookie: session=student-{}\r\n",
                shot.who
            );
            format!("{line}{}\r\n", clock(shot)).into_bytes()
        };
        let guests = move |shot: &Shot| {
            let address = IpAddr::from([203, 0, 113, u8::try_from(shot.who).unwrap_or(u8::MAX)]);
            let address = sign_address(address, now(), KEY.as_bytes());
            let line = format!(
                "GET /exam/help HTTP/1.1\r\nhost: exam.test\r\nx-client-address: {address}\r\n"
            );
            format!("{line}{}\r\n", clock(shot)).into_bytes()
        };
        let load = |shots: &[Shot], write: Write| Load {
            authority: envoy.authority(),
            from: SCHOOL.parse().ok(),
            connections: 16,
            shots: shots.to_vec(),
            write,
            returns_until: Duration::ZERO,
            stop: Arc::default(),
        };
        let begun = Instant::now() + Duration::from_millis(50);
        let with_guests: &[Shot] = if behind { &self.guests } else { &[] };
        let (students, guests) = tokio::try_join!(
            load(&self.students, Box::new(students)).send(begun),
            load(with_guests, Box::new(guests)).send(begun),
        )?;
        Ok(Layer { students, guests })
    }
}

/// How many requests are admitted whose header has an address made up, another each time.
async fn forge(envoy: &Envoy, header: &str, address: impl Fn(usize) -> String) -> Result<usize> {
    let client = Client::builder().from(SCHOOL.parse()?).build_plain();
    let mut admitted = 0;
    for n in 0..FORGED {
        let answer = client
            .get(envoy.at("/exam/help"))
            .header(header, address(n))
            .send()
            .await?;
        admitted += usize::from(answer.status == 200);
    }
    Ok(admitted)
}

/// What who sits at the front's old address gets.
struct TakenOver {
    forged: usize,
    old: usize,
    bare: usize,
    bare_took: Duration,
}

async fn taken_over(envoy: &Envoy) -> Result<TakenOver> {
    let made_up = |n: usize| IpAddr::from([198, 51, 100, u8::try_from(n).unwrap_or(u8::MAX)]);
    let plain = forge(envoy, "x-client-address", |n| made_up(n).to_string()).await?;
    let signed = |n| sign_address(made_up(n), now(), b"a key of their own");
    let forged = plain + forge(envoy, "x-client-address", signed).await?;
    let then = now() - 12 * 86_400;
    let old = forge(envoy, "x-client-address", |n| {
        sign_address(made_up(n), then, KEY.as_bytes())
    })
    .await?;
    let begun = Instant::now();
    let bare = forge(envoy, "x-forwarded-for", |n| made_up(n).to_string()).await?;
    Ok(TakenOver {
        forged,
        old,
        bare,
        bare_took: begun.elapsed(),
    })
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// Both layers, one after the other, in the seconds of the exam.
fn lines(exam: &Layer, behind: &Layer) -> Vec<Series> {
    let rows = [
        ("students: admitted", Ink::Sky),
        ("students: refused", Ink::Vermilion),
        ("guests: admitted", Ink::Green),
        ("guests: refused", Ink::Purple),
    ];
    let spans = (EXAM.as_secs_f64() / 2.0) as usize;
    let mut timeline = Timeline::new(2.0, spans * 2, &rows);
    for (layer, from) in [(exam, 0.0), (behind, EXAM.as_secs_f64())] {
        for (first, landed) in [(0, &layer.students), (2, &layer.guests)] {
            for one in landed {
                let at = one.shot.at.as_secs_f64() * f64::from(SHORTER);
                timeline.add(first + usize::from(one.status != 200), from + at);
            }
        }
    }
    timeline.per_second()
}
