//! Clients over HTTP/2: streams beside each other, resets at every phase, and connections that are dropped or talk nonsense.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use h2::Reason;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderName, HeaderValue};
use hyper::body::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::connect;
use crate::history::{End, History};
use crate::people::{HOST, People};
use crate::read::Head;
use crate::request::Request;

const PATIENCE: Duration = Duration::from_secs(12);

/// Where a client stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It does not.
    End,
    /// When it has sent the headers of a request that has a body.
    Headers,
    /// Within the body.
    Body,
    /// When it has sent all.
    Sent,
    /// When the answer's headers have come.
    Answer,
}

/// What a connection is used for.
#[derive(Clone, Debug)]
enum Use {
    /// One stream after the other, or beside each other.
    Streams(usize, bool, Phase),
    /// Streams that are opened and reset at once.
    RapidResets(usize),
    /// Streams that are open when the connection is dropped.
    Dropped(usize),
    /// Bytes that are no frames.
    Nonsense,
    /// A body of another length than its header says.
    WrongLength,
}

/// Uses one connection, with numbers from this one on.
pub(crate) async fn run(
    number: u64,
    dice: &mut fastrand::Rng,
    people: &People,
    to: SocketAddr,
    history: &Arc<History>,
) -> io::Result<()> {
    let usage = match dice.u8(0..20) {
        0 => Use::Streams(1, false, Phase::Headers),
        1 => Use::Streams(2, true, Phase::Body),
        2 => Use::Streams(1, false, Phase::Sent),
        3 => Use::Streams(2, true, Phase::Answer),
        4 => Use::RapidResets(dice.usize(8..32)),
        5 => Use::Dropped(dice.usize(1..5)),
        6 => Use::Nonsense,
        7 => Use::WrongLength,
        8..12 => Use::Streams(dice.usize(2..6), true, Phase::End),
        _ => Use::Streams(dice.usize(1..4), false, Phase::End),
    };
    let count = match &usage {
        Use::Streams(count, ..) | Use::RapidResets(count) | Use::Dropped(count) => *count,
        Use::Nonsense => 0,
        Use::WrongLength => 1,
    };
    let requests: Vec<Request> = (number..)
        .take(count)
        .map(|number| Request::new(number, dice, people))
        .collect();
    let from = requests.first().map_or(1, |request| request.from);
    let mut stream = connect(to, from).await?;
    if matches!(usage, Use::Nonsense) {
        return nonsense(&mut stream, dice).await;
    }
    // All of one connection come from one address, which is who a stranger is.
    let requests = requests.into_iter().filter(|request| request.from == from);
    let connected = timeout(PATIENCE, h2::client::handshake(stream)).await;
    let Ok(Ok((client, connection))) = connected else {
        return Ok(());
    };
    let driving = tokio::spawn(async move {
        // Its end is seen by the streams.
        let _ = connection.await;
    });
    let mut running = JoinSet::new();
    for mut request in requests {
        let Ok(client) = client.clone().ready().await else {
            break;
        };
        let phase = match usage {
            Use::Streams(_, _, phase) => phase,
            Use::RapidResets(_) => Phase::Headers,
            _ => Phase::End,
        };
        request.told.protocol = "HTTP/2";
        let hostile = match (&usage, phase) {
            (Use::RapidResets(_), _) => "rapid resets",
            (Use::Dropped(_), _) => "the connection is dropped",
            (Use::WrongLength, _) => "a wrong content-length",
            (_, Phase::Headers) => "reset after the headers",
            (_, Phase::Body) => "reset within the body",
            (_, Phase::Sent) => "leaves before the answer",
            (_, Phase::Answer) => "leaves within the answer",
            _ => request.told.hostile,
        };
        request.told.hostile = hostile;
        let wrong = matches!(usage, Use::WrongLength);
        let exchange = Exchange {
            request,
            phase,
            wrong,
            pause: dice.u64(0..40),
            history: Arc::clone(history),
        };
        match usage {
            Use::Streams(_, false, _) => exchange.run(client).await,
            _ => {
                running.spawn(exchange.run(client));
            }
        }
    }
    if let Use::Dropped(_) = usage {
        tokio::time::sleep(Duration::from_millis(dice.u64(0..80))).await;
        driving.abort();
    }
    while running.join_next().await.is_some() {}
    driving.abort();
    Ok(())
}

/// A request on a stream of its own.
struct Exchange {
    request: Request,
    phase: Phase,
    wrong: bool,
    pause: u64,
    history: Arc<History>,
}

impl Exchange {
    async fn run(self, client: SendRequest<Bytes>) {
        // Not every line can be written in HTTP/2.
        let Some(head) = self.head() else { return };
        let number = self.request.told.number;
        self.history.tell(self.request.told.clone());
        let end = timeout(PATIENCE, self.exchange(client, head)).await;
        let end = match end {
            Ok(Ok(end)) => end,
            Ok(Err(how)) => End::Cut(how),
            Err(_) => End::Silent,
        };
        self.history.end(number, end);
    }

    fn head(&self) -> Option<http::Request<()>> {
        let told = &self.request.told;
        let mut head = http::Request::builder()
            .method(told.method.as_str())
            .uri(format!("http://{HOST}{}", told.path))
            .body(())
            .ok()?;
        let headers = head.headers_mut();
        for (name, value) in &self.request.lines {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_bytes(value).ok()?);
        }
        if self.wrong {
            let length = self.request.body.len() + 7;
            headers.insert("content-length", HeaderValue::from(length));
        }
        Some(head)
    }

    async fn exchange(
        &self,
        mut client: SendRequest<Bytes>,
        head: http::Request<()>,
    ) -> Result<End, String> {
        let body = Bytes::from(self.request.body.clone());
        let bodiless = body.is_empty() && self.phase != Phase::Headers;
        let (answer, stream) = client
            .send_request(head, bodiless)
            .map_err(|error| cut("opened", &error))?;
        self.go_on(answer, stream, body).await
    }

    /// Sends the body of a stream whose headers are sent, and reads the answer, up to where the client stops.
    async fn go_on(
        &self,
        answer: ResponseFuture,
        mut stream: SendStream<Bytes>,
        body: Bytes,
    ) -> Result<End, String> {
        let reset = |mut stream: SendStream<Bytes>| stream.send_reset(Reason::CANCEL);
        match self.phase {
            Phase::Headers => {
                self.pause().await;
                reset(stream);
                return Ok(End::Gone("after the headers"));
            }
            Phase::Body if !body.is_empty() => {
                let _ = stream.send_data(body.slice(..body.len() / 2), false);
                self.pause().await;
                reset(stream);
                return Ok(End::Gone("within the body"));
            }
            // Whoever is refused by his headers has his answer before his body is sent, and no body is wanted of him any more:
            // a NO_ERROR (RFC 9113, 8.1). What came is read all the same.
            _ if !body.is_empty() => {
                let _ = stream.send_data(body, true);
            }
            _ => {}
        }
        if self.phase == Phase::Sent {
            self.pause().await;
            reset(stream);
            return Ok(End::Gone("before the answer"));
        }
        self.answer(answer, stream).await
    }

    async fn answer(
        &self,
        answer: ResponseFuture,
        mut stream: SendStream<Bytes>,
    ) -> Result<End, String> {
        let answer = answer.await.map_err(|error| cut("answered", &error))?;
        let (parts, mut body) = answer.into_parts();
        if self.phase == Phase::Answer {
            self.pause().await;
            stream.send_reset(Reason::CANCEL);
            return Ok(End::Gone("within the answer"));
        }
        let lines = parts.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), value.into_owned())
        });
        let head = Head::new(parts.status.as_u16(), lines.collect());
        let (body, whole) = all(&mut body).await;
        Ok(End::Answered(head.answer(&body, whole, self.history.now())))
    }

    async fn pause(&self) {
        tokio::time::sleep(Duration::from_millis(self.pause)).await;
    }
}

/// How a stream ended: what was to be done with it, and who ended it, by a reset, a GOAWAY or the connection's end, with which reason.
fn cut(what: &str, error: &h2::Error) -> String {
    format!("not {what}: {error:?}")
}

/// The body as far as it came, and whether that was its end.
async fn all(body: &mut RecvStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = match data {
            Ok(data) => data,
            // So ends a whole answer to a request that is not whole.
            Err(error) => return (bytes, error.reason() == Some(Reason::NO_ERROR)),
        };
        let _ = body.flow_control().release_capacity(data.len());
        bytes.extend_from_slice(&data);
    }
    (bytes, true)
}

/// Sends what is no HTTP/2, or not for long, and waits for the end.
async fn nonsense(stream: &mut tokio::net::TcpStream, dice: &mut fastrand::Rng) -> io::Result<()> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // Settings, as they begin every connection.
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend((0..dice.usize(1..200)).map(|_| dice.u8(..)));
    stream.write_all(&bytes).await?;
    let mut nowhere = [0; 1 << 10];
    let reading = async { while matches!(stream.read(&mut nowhere).await, Ok(1..)) {} };
    let _ = timeout(Duration::from_millis(300), reading).await;
    stream.set_zero_linger()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tidegate_e2e::jwt::Issuer;

    use super::*;
    use crate::history::Kind;

    /// Answers each request by its headers, and wants no body.
    async fn refuse(io: tokio::io::DuplexStream) {
        let mut connection = h2::server::handshake(io).await.unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let head = http::Response::builder().status(429).body(()).unwrap();
            let mut answer = respond.send_response(head, false).unwrap();
            answer
                .send_data(Bytes::from_static(b"too many"), true)
                .unwrap();
        }
    }

    fn exchange(phase: Phase) -> Exchange {
        let people = People::new(1, &Issuer::new("made-up").unwrap()).unwrap();
        let numbers = 0..1_000;
        let mut requests =
            numbers.map(|n| Request::new(n, &mut fastrand::Rng::with_seed(n), &people));
        let charge = requests
            .find(|request| request.told.kind == Kind::Charges && request.told.hostile.is_empty());
        Exchange {
            request: charge.unwrap(),
            phase,
            wrong: false,
            pause: 0,
            history: Arc::new(History::new()),
        }
    }

    #[tokio::test]
    async fn an_answer_that_comes_before_the_body_is_sent_is_an_answer() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(refuse(theirs));
        let (client, connection) = h2::client::handshake(ours).await.unwrap();
        tokio::spawn(connection);
        let exchange = exchange(Phase::End);
        let mut client = client.ready().await.unwrap();
        let head = exchange.head().unwrap();
        let (answer, mut stream) = client.send_request(head, false).unwrap();
        let reason = poll_fn(|context| stream.poll_reset(context)).await;
        assert_eq!(reason.unwrap(), Reason::NO_ERROR);
        let body = Bytes::from(exchange.request.body.clone());
        let end = exchange.go_on(answer, stream, body).await;
        let Ok(End::Answered(answer)) = end else {
            panic!("{end:?}");
        };
        assert_eq!((answer.status, answer.whole), (429, true));
    }
}
