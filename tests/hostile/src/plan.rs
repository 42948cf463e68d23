//! How requests are sent over HTTP/1.1: byte by byte what goes onto a connection, and where the client stops.

use std::ops::RangeInclusive;

use crate::history::Kind;
use crate::people::People;
use crate::request::{BLOCK, Request};

/// One thing that a client does with its connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Does nothing for so many milliseconds.
    Wait(u64),
    /// Says that nothing more comes; the answer is still read.
    HalfClose,
    /// Reads the answer to the request of this index.
    Read(usize),
    /// Reads so many bytes of an answer.
    Peek(usize),
    /// Resets the connection: the request of this index has no answer, given up here.
    Leave(usize, &'static str),
}

/// What a client does, from its connection to its end.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) requests: Vec<Request>,
    pub(crate) acts: Vec<Act>,
}

const HOSTILE: [&str; 24] = [
    "leaves within the head",
    "leaves within the body",
    "leaves before the answer",
    "leaves within the answer",
    "half-closed",
    "half-closed within the body",
    "pipelined",
    "slow head",
    "slow body",
    "chunked",
    "malformed chunks",
    "endless chunk size",
    "content-length too small",
    "content-length too large",
    "two lengths",
    "length and chunks",
    "a negative length",
    "headers of 70 KiB",
    "150 headers",
    "a bare line feed",
    "a NUL in a header",
    "HTTP/1.0",
    "an absolute target",
    "expects 100",
];

impl Plan {
    /// Makes the plan whose first request has this number; those that come beside it have the numbers after that.
    pub(crate) fn new(number: u64, dice: &mut fastrand::Rng, people: &People) -> Self {
        let mut request = Request::new(number, dice, people);
        let mut plan = Self {
            requests: Vec::new(),
            acts: Vec::new(),
        };
        if !request.told.hostile.is_empty() || dice.u8(0..3) > 0 {
            let more = if dice.u8(0..3) == 0 {
                dice.u64(1..4)
            } else {
                0
            };
            let more = beside(&request, 1..=more, dice, people);
            for (index, request) in [request].into_iter().chain(more).enumerate() {
                plan.acts.push(Act::Send(request.head(&request.length())));
                plan.acts.push(Act::Send(request.body.clone()));
                plan.acts.push(Act::Read(index));
                plan.requests.push(request);
            }
            return plan;
        }
        let what = *dice.choice(HOSTILE.iter()).unwrap_or(&"");
        request.told.hostile = what;
        plan.requests.push(request);
        plan.turn_hostile(what, number, dice, people);
        plan
    }

    /// Plans that send a recorded request again at the same time, on connections of their own.
    pub(crate) fn again(&self, dice: &mut fastrand::Rng) -> Vec<Self> {
        let Some(first) = self.requests.first() else {
            return Vec::new();
        };
        if first.told.record.is_none() || !first.told.hostile.is_empty() || dice.u8(0..3) > 0 {
            return Vec::new();
        }
        let numbers = (first.told.number + BLOCK / 2..).take(dice.usize(1..5));
        let plans = numbers.map(|number| {
            let request = first.again(number);
            Self {
                acts: vec![
                    Act::Send(request.head(&request.length())),
                    Act::Send(request.body.clone()),
                    Act::Read(0),
                ],
                requests: vec![request],
            }
        });
        plans.collect()
    }

    /// Has its first request take down the VM of the module's test build.
    pub(crate) fn trap(&mut self) {
        if let Some(Act::Send(head)) = self.acts.first_mut()
            && let Some(at) = head.windows(2).position(|pair| pair == b"\r\n")
        {
            head.splice(at..at, *b"\r\nx-test-trap: 1");
        }
    }

    fn turn_hostile(
        &mut self,
        what: &'static str,
        number: u64,
        dice: &mut fastrand::Rng,
        people: &People,
    ) {
        let request = self.requests[0].clone();
        let (head, body) = (request.head(&request.length()), request.body.clone());
        let middle = body.len() / 2;
        let mut acts = Vec::new();
        let mut send = |bytes: &[u8]| acts.push(Act::Send(bytes.to_vec()));
        match what {
            "leaves within the head" => {
                send(&head[..head.len() / 2]);
                acts.push(Act::Leave(0, what));
            }
            "leaves within the body" => {
                send(&head);
                send(&body[..middle]);
                acts.push(Act::Wait(dice.u64(0..60)));
                acts.push(Act::Leave(0, what));
            }
            "leaves before the answer" => {
                send(&head);
                send(&body);
                acts.push(Act::Wait(dice.u64(0..60)));
                acts.push(Act::Leave(0, what));
            }
            "leaves within the answer" => {
                send(&head);
                send(&body);
                acts.push(Act::Peek(dice.usize(1..900)));
                acts.push(Act::Leave(0, what));
            }
            "half-closed" => {
                send(&head);
                send(&body);
                acts.push(Act::HalfClose);
                acts.push(Act::Read(0));
            }
            "half-closed within the body" => {
                send(&head);
                send(&body[..middle]);
                acts.push(Act::HalfClose);
                acts.push(Act::Read(0));
            }
            "pipelined" => {
                let more = beside(&request, 1..=2, dice, people);
                let mut all = [head, body].concat();
                for request in &more {
                    all.extend(request.head(&request.length()));
                    all.extend(&request.body);
                }
                send(&all);
                acts.extend((0..=more.len()).map(Act::Read));
                self.requests.extend(more);
            }
            "slow head" => {
                for piece in head.chunks((head.len() / 5).max(1)) {
                    acts.push(Act::Send(piece.to_vec()));
                    acts.push(Act::Wait(dice.u64(10..120)));
                }
                acts.push(Act::Send(body));
                acts.push(Act::Read(0));
            }
            "slow body" => {
                send(&head);
                let size = (body.len() / 5).max(1);
                for piece in body.chunks(size) {
                    acts.push(Act::Send(piece.to_vec()));
                    acts.push(Act::Wait(dice.u64(10..120)));
                }
                acts.push(Act::Read(0));
            }
            "chunked" | "malformed chunks" | "endless chunk size" | "length and chunks" => {
                let chunks = "transfer-encoding: chunked\r\n";
                let framing = match what {
                    "length and chunks" => format!("{}{chunks}", request.length()),
                    _ => chunks.to_owned(),
                };
                send(&request.head(&framing));
                match what {
                    "malformed chunks" => send(b"zz\r\nabc\r\n0\r\n\r\n"),
                    "endless chunk size" => send(&b"f".repeat(64)),
                    _ => {
                        for piece in body.chunks((body.len() / 3).max(1)) {
                            let size = format!("{:x};a=b\r\n", piece.len());
                            send(&[size.as_bytes(), piece, b"\r\n"].concat());
                        }
                        send(b"0\r\nx-trailer: 1\r\n\r\n");
                    }
                }
                acts.push(Act::Read(0));
            }
            "content-length too small" => {
                // What is left over is another request, and Envoy takes it for one.
                let mut next = Request::new(number + 1, dice, people);
                next.told.kind = Kind::Plain;
                next.told.record = None;
                next.told.cost = 1;
                next.lines.retain(|(name, _)| name != "x-cost");
                "GET".clone_into(&mut next.told.method);
                "/plain/left-over".clone_into(&mut next.told.path);
                // Whoever says by the query who he is, does not here.
                next.told.who = crate::people::Who::Stranger(request.from);
                next.lines.retain(|(name, _)| name == "x-number");
                next.body.clear();
                next.told.hostile = "the rest of another request";
                send(&request.head("content-length: 0\r\n"));
                send(&next.head(""));
                acts.extend([Act::Read(0), Act::Read(1)]);
                self.requests.push(next);
                // Without its body it is another request, with the same key.
                if request.told.kind == Kind::Events {
                    self.requests[0].told.record = None;
                }
            }
            "content-length too large" => {
                send(&request.head(&format!("content-length: {}\r\n", body.len() + 100)));
                send(&body);
                acts.push(Act::Wait(dice.u64(10..200)));
                acts.push(Act::Leave(0, what));
            }
            "two lengths" => {
                let (one, other) = (body.len(), body.len() + 1);
                let lengths = format!("content-length: {one}\r\ncontent-length: {other}\r\n");
                send(&request.head(&lengths));
                send(&body);
                acts.push(Act::Read(0));
            }
            "a negative length" => {
                send(&request.head("content-length: -1\r\n"));
                send(&body);
                acts.push(Act::Read(0));
            }
            "headers of 70 KiB" => {
                let line = format!("x-filling: {}\r\n", "f".repeat(7_000));
                send(&request.head(&(line.repeat(10) + &request.length())));
                send(&body);
                acts.push(Act::Read(0));
            }
            "150 headers" => {
                let lines: String = (0..150).map(|n| format!("x-filling-{n}: 1\r\n")).collect();
                send(&request.head(&(lines + &request.length())));
                send(&body);
                acts.push(Act::Read(0));
            }
            "a bare line feed" => {
                send(&request.head(&format!("x-odd: 1\nx-more: 1\r\n{}", request.length())));
                send(&body);
                acts.push(Act::Read(0));
            }
            "a NUL in a header" => {
                send(&request.head(&format!("x-odd: a\0b\r\n{}", request.length())));
                send(&body);
                acts.push(Act::Read(0));
            }
            "HTTP/1.0" | "an absolute target" => {
                let text = String::from_utf8_lossy(&head).into_owned();
                let text = if what == "HTTP/1.0" {
                    text.replacen("HTTP/1.1", "HTTP/1.0", 1)
                } else {
                    text.replacen(" /", " http://api.test/", 1)
                };
                send(text.as_bytes());
                send(&body);
                acts.push(Act::Read(0));
            }
            _ => {
                send(&request.head(&format!("expect: 100-continue\r\n{}", request.length())));
                acts.push(Act::Wait(dice.u64(0..50)));
                acts.push(Act::Send(body));
                acts.push(Act::Read(0));
            }
        }
        self.acts = acts;
    }
}

/// More requests for one connection, with the numbers behind the first one's: only such as come from the same address.
fn beside(
    first: &Request,
    next: RangeInclusive<u64>,
    dice: &mut fastrand::Rng,
    people: &People,
) -> Vec<Request> {
    let requests = next.map(|next| Request::new(first.told.number + next, dice, people));
    requests
        .filter(|request| request.from == first.from)
        .collect()
}
