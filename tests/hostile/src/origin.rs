//! An origin that misbehaves at random, and writes down everything that reaches it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::history::{Execution, History, Told};
use crate::people::People;
use crate::policy::TIMEOUT_MS;
use crate::read::{Head, digest};

/// The longest head that is read.
const LONGEST: u64 = 256 << 10;

/// How long the origin waits for the rest of a request.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the origin does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conduct {
    /// Answers, after so many milliseconds.
    Answers(u64),
    /// Answers so late that nobody waits for it.
    Late,
    /// Answers in pieces, with pauses.
    Drips,
    /// Answers with more than is kept.
    Large,
    /// Answers before the body has come, and reads no more.
    Early,
    /// Resets the connection before it has read the body.
    Deaf,
    /// Resets the connection when it has read all.
    Resets,
    /// Closes the connection when it has read all.
    Closes,
    /// Breaks off within the body of its answer, if no cache may keep that: `cache_v2` loses a worker by it (docs/caching.md).
    Truncates,
}

/// The origin. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Origin {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// What a connection works with.
#[derive(Clone)]
struct Shared {
    history: Arc<History>,
    people: Arc<People>,
    seed: u64,
}

impl Origin {
    pub(crate) async fn start(
        history: Arc<History>,
        people: Arc<People>,
        seed: u64,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Shared {
            history,
            people,
            seed,
        };
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => {
                        let shared = shared.clone();
                        connections.spawn(async move { shared.serve(stream).await });
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { address, accepting })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        while let Some(head) = head(&mut stream).await? {
            let Some((told, at)) = self.arrive(&head) else {
                // Nobody sent it, so nobody is waiting for anything.
                return stream.get_ref().set_zero_linger();
            };
            let mut dice = fastrand::Rng::with_seed(self.seed.rotate_left(17) ^ told.number);
            let conduct = conduct(&mut dice, &told);
            let shown = named(conduct);
            self.change(at, |execution| execution.conduct = shown);
            let goes_on = self
                .play(&mut stream, &head, &told, at, conduct, &mut dice)
                .await;
            let now = self.history.now();
            self.change(at, |execution| {
                execution.ended.get_or_insert(now);
            });
            if !goes_on? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Writes down that a request has come; none if nobody sent it.
    fn arrive(&self, head: &Head) -> Option<(Told, usize)> {
        let number = head.one("x-number").and_then(|n| n.parse().ok());
        let path = head.path().to_owned();
        // Envoy's own headers do not begin like ours.
        let ours = head.names().find(|name| name.starts_with("x-tidegate"));
        let ours = ours
            .map(str::to_owned)
            .or_else(|| path.contains("__tidegate=").then(|| path.clone()));
        let arrived = self.history.now();
        self.history.with(|past| {
            let told = number.and_then(|number: u64| past.told.get(&number).cloned());
            let Some(told) = told else {
                past.unknown.push(head.text());
                return None;
            };
            past.executions.push(Execution {
                number: told.number,
                arrived,
                whole: None,
                ended: None,
                conduct: "",
                status: None,
                complete: false,
                kept: 0,
                body: 0,
                method: head.method().to_owned(),
                path,
                ours,
            });
            Some((told, past.executions.len() - 1))
        })
    }

    fn change(&self, at: usize, change: impl FnOnce(&mut Execution)) {
        self.history.with(|past| {
            if let Some(execution) = past.executions.get_mut(at) {
                change(execution);
            }
        });
    }

    /// Plays one exchange; whether the connection goes on.
    async fn play(
        &self,
        stream: &mut BufReader<TcpStream>,
        head: &Head,
        told: &Told,
        at: usize,
        conduct: Conduct,
        dice: &mut fastrand::Rng,
    ) -> io::Result<bool> {
        let early = conduct == Conduct::Early && head.has_body();
        if conduct == Conduct::Deaf {
            stream.get_ref().set_zero_linger()?;
            return Ok(false);
        }
        if !early {
            let read = tokio::time::timeout(PATIENCE, body(stream, head)).await;
            if !matches!(read, Ok(Ok(true))) {
                return Ok(false);
            }
            let now = self.history.now();
            self.change(at, |execution| execution.whole = Some(now));
        }
        match conduct {
            Conduct::Answers(millis) => pause(millis).await,
            Conduct::Late => pause(TIMEOUT_MS + 500).await,
            Conduct::Resets => {
                stream.get_ref().set_zero_linger()?;
                return Ok(false);
            }
            Conduct::Closes => {
                stream.shutdown().await?;
                return Ok(false);
            }
            _ => {}
        }
        let made = self.made(told, head, conduct, dice);
        let conduct = match conduct {
            Conduct::Truncates if made.kept > 0 => Conduct::Answers(0),
            _ => conduct,
        };
        self.change(at, |execution| {
            execution.conduct = named(conduct);
            execution.status = Some(made.status);
            execution.body = digest(&made.body);
            execution.kept = made.kept;
        });
        let empty = head.method() == "HEAD" || [204, 304].contains(&made.status);
        stream.write_all(made.head.as_bytes()).await?;
        let body: &[u8] = if empty { b"" } else { &made.body };
        if conduct == Conduct::Truncates && !body.is_empty() {
            stream.write_all(&body[..body.len() / 2]).await?;
            stream.flush().await?;
            pause(dice.u64(0..20)).await;
            stream.get_ref().set_zero_linger()?;
            return Ok(false);
        }
        if conduct == Conduct::Drips {
            for piece in body.chunks((body.len() / 4).max(1)) {
                stream.write_all(piece).await?;
                pause(dice.u64(5..60)).await;
            }
        } else {
            stream.write_all(body).await?;
        }
        let now = self.history.now();
        self.change(at, |execution| {
            execution.complete = true;
            execution.ended = Some(now);
        });
        if early {
            stream.shutdown().await?;
        }
        Ok(!early)
    }

    fn made(&self, told: &Told, head: &Head, conduct: Conduct, dice: &mut fastrand::Rng) -> Made {
        use crate::history::Kind;
        let status = match dice.u8(0..100) {
            0..4 => *dice.choice([500, 501, 502, 504].iter()).unwrap_or(&500),
            4..7 => *dice.choice([429, 503].iter()).unwrap_or(&503),
            7..12 => *dice.choice([400, 404, 409, 422].iter()).unwrap_or(&404),
            12..15 => *dice.choice([201, 202, 204].iter()).unwrap_or(&204),
            _ => 200,
        };
        let secret = match (told.kind, self.people.tenant(told.who)) {
            // Events of nobody are everybody's.
            (Kind::Public, _) | (Kind::Events, None) => None,
            (Kind::Shared, Some(tenant)) => Some(self.people.secret_of_tenant(tenant)),
            _ => Some(self.people.secret(told.who)),
        };
        let size = match conduct {
            Conduct::Large => dice.usize(40_000..90_000),
            Conduct::Drips | Conduct::Truncates => dice.usize(600..4_000),
            _ => dice.usize(0..400),
        };
        let filling = "x".repeat(size);
        let secret = secret.unwrap_or_else(|| "none".to_owned());
        let body = format!(
            "{{\"number\":{},\"secret\":\"{secret}\",\"x\":\"{filling}\"}}",
            told.number
        );
        let cached = matches!(told.kind, Kind::Mine | Kind::Shared | Kind::Public);
        let control = match dice.u8(0..10) {
            _ if !cached => None,
            0 => Some("no-store"),
            1 => Some("Private, max-age=60"),
            2 => None,
            3 => Some("s-maxage=60"),
            _ => Some("public, max-age=60"),
        };
        let mut lines = format!(
            "HTTP/1.1 {status} Made\r\ndate: {}\r\ncontent-type: application/json\r\nx-number: {}\r\n",
            // Without it Envoy's cache keeps nothing.
            httpdate::fmt_http_date(SystemTime::now()),
            told.number
        );
        // What a public copy says is for everybody.
        if told.kind != Kind::Public {
            lines += &format!("x-secret: {secret}\r\n");
            if dice.u8(0..12) == 0 {
                lines += &format!("set-cookie: session={secret}\r\n");
            }
        }
        if let Some(control) = control {
            lines += &format!("cache-control: {control}\r\n");
        }
        match dice.u8(0..40) {
            // What only the gate and its role `origin` say to each other, said by the application.
            0 => lines += "x-tidegate-seal: 1\r\nx-tidegate-kept-cache-control: public\r\n",
            // Elsewhere it is the application's own.
            1 if told.record.is_some() => lines += "idempotent-replayed: true\r\n",
            2 => lines += "ratelimit: \"tenant-ceiling\";r=9999;t=0, \"x\", \"x\"\r\n",
            3 => lines += "vary: cookie\r\n",
            _ => {}
        }
        if ![204, 304].contains(&status) {
            lines += &format!("content-length: {}\r\n", body.len());
        }
        let kept = if cached && control.is_some() && head.method() == "GET" {
            (lines.len() + body.len()) as u64
        } else {
            0
        };
        Made {
            status,
            head: lines + "\r\n",
            body: body.into_bytes(),
            kept,
        }
    }
}

/// An answer.
struct Made {
    status: u16,
    head: String,
    body: Vec<u8>,
    kept: u64,
}

fn conduct(dice: &mut fastrand::Rng, told: &Told) -> Conduct {
    // Nobody waits for what was given up.
    if told.hostile == "leaves before the answer" {
        return Conduct::Answers(dice.u64(100..400));
    }
    if told.hostile == "leaves within the answer" {
        return Conduct::Drips;
    }
    match dice.u16(0..1_000) {
        0..10 => Conduct::Late,
        10..40 => Conduct::Drips,
        40..50 => Conduct::Large,
        50..60 => Conduct::Early,
        60..70 => Conduct::Deaf,
        70..90 => Conduct::Resets,
        90..105 => Conduct::Closes,
        105..125 => Conduct::Truncates,
        125..225 => Conduct::Answers(dice.u64(50..500)),
        _ => Conduct::Answers(dice.u64(0..20)),
    }
}

const fn named(conduct: Conduct) -> &'static str {
    match conduct {
        Conduct::Answers(_) => "answers",
        Conduct::Late => "late",
        Conduct::Drips => "drips",
        Conduct::Large => "large",
        Conduct::Early => "early",
        Conduct::Deaf => "deaf",
        Conduct::Resets => "resets",
        Conduct::Closes => "closes",
        Conduct::Truncates => "truncates",
    }
}

async fn pause(millis: u64) {
    if millis > 0 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// Reads up to the empty line; none when the other side has closed.
async fn head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    loop {
        let read = (&mut *stream)
            .take(LONGEST)
            .read_until(b'\n', &mut bytes)
            .await?;
        if read == 0 || bytes.len() as u64 > LONGEST {
            return Ok(None);
        }
        if bytes.ends_with(b"\r\n\r\n") {
            return Ok(Some(Head::read(&bytes)));
        }
    }
}

/// Reads the body; whether it came as a whole.
async fn body(stream: &mut BufReader<TcpStream>, head: &Head) -> io::Result<bool> {
    let mut nowhere = tokio::io::sink();
    if head.one("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(false);
            }
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            // The line end behind it.
            let wanted = if size == 0 { 0 } else { size + 2 };
            let read = tokio::io::copy(&mut (&mut *stream).take(wanted), &mut nowhere).await?;
            if read < wanted {
                return Ok(false);
            }
            if size == 0 {
                break;
            }
        }
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(false);
            }
            if line == "\r\n" {
                return Ok(true);
            }
        }
    }
    let length = head.length().unwrap_or(0);
    let read = tokio::io::copy(&mut (&mut *stream).take(length), &mut nowhere).await?;
    Ok(read == length)
}
