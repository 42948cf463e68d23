//! Requests at random: mostly such as a good client would send, and hostile ones among them. The same seed and number make the same request.

use std::fmt::Write as _;

use crate::history::{Kind, Record, Told};
use crate::people::{HOST, People, Who};

/// A request as it goes onto the wire.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) told: Told,
    /// Header lines beside `:authority` and the body's length, in order.
    pub(crate) lines: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// The last byte of the address 127.0.0.x that it comes from.
    pub(crate) from: u8,
}

/// How many numbers the requests of one plan have to themselves.
pub(crate) const BLOCK: u64 = 32;

/// Where requests come from that are not strangers'.
const HOME: u8 = 1;

/// What is hostile about the headers of a request; the rest of what is hostile is how it is sent.
const HEADERS: [&str; 14] = [
    "an identity twice",
    "an identity with a control character",
    "an identity with a comma",
    "an identity with underscores too",
    "an identity of 2 KiB",
    "a token of another issuer",
    "a reserved header",
    "a reserved parameter",
    "a huge key",
    "a malformed key",
    "two keys",
    "a body that is no JSON",
    "a cost that is none",
    "an odd path",
];

impl Request {
    /// Makes the request of this number.
    pub(crate) fn new(number: u64, dice: &mut fastrand::Rng, people: &People) -> Self {
        let stranger = dice.u8(0..12) == 0;
        let who = if stranger {
            Who::Stranger(dice.u8(2..6))
        } else {
            // The first one of each tenant is the loudest.
            let number = dice.usize(0..people.all.len());
            let loud = number / crate::people::ACCOUNTS * crate::people::ACCOUNTS;
            Who::Account(if dice.u8(0..3) == 0 { loud } else { number })
        };
        let kind = *dice.choice(KINDS.iter()).unwrap_or(&Kind::Plain);
        let mut request = Self {
            told: Told {
                number,
                who,
                kind,
                hostile: "",
                protocol: "",
                method: String::new(),
                path: String::new(),
                record: None,
                cost: 1,
                large: false,
                follows: false,
                sent: 0,
            },
            lines: vec![("x-number".to_owned(), number.to_string().into_bytes())],
            body: Vec::new(),
            from: HOME,
        };
        match who {
            Who::Account(number) => {
                for (name, value) in &people.all[number].lines {
                    request.line(name, value);
                }
            }
            Who::Stranger(address) => request.from = address,
        }
        request.aim(dice);
        if dice.u8(0..6) == 0 {
            request.turn_hostile(dice);
        }
        if let Who::Account(number) = who
            && let Some(query) = &people.all[number].query
        {
            let divider = if request.told.path.contains('?') {
                '&'
            } else {
                '?'
            };
            let _ = write!(request.told.path, "{divider}{query}");
        }
        request
    }

    pub(crate) fn line(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.lines.push((name.to_owned(), value.as_ref().to_vec()));
    }

    fn aim(&mut self, dice: &mut fastrand::Rng) {
        let mut method = "GET";
        let path = match self.told.kind {
            Kind::Charges | Kind::Orders | Kind::Uploads => {
                method = "POST";
                self.pay(dice)
            }
            Kind::Events => {
                method = "POST";
                self.event(dice)
            }
            Kind::Change => {
                method = *dice
                    .choice(["POST", "PUT", "DELETE"].iter())
                    .unwrap_or(&"PUT");
                self.body = b"changed".to_vec();
                format!("/mine/{}", dice.u8(0..8))
            }
            Kind::Mine => format!("/mine/{}{}", dice.u8(0..8), query(dice)),
            Kind::Shared => format!("/shared/{}{}", dice.u8(0..8), query(dice)),
            Kind::Public => format!("/public/{}{}", dice.u8(0..8), query(dice)),
            Kind::Bulk => {
                self.told.cost = 2;
                if dice.bool() {
                    self.told.cost = dice.u64(1..8);
                    self.line("x-cost", self.told.cost.to_string());
                }
                "/bulk".to_owned()
            }
            Kind::Private => "/private".to_owned(),
            Kind::Tried => "/tried".to_owned(),
            Kind::Plain => format!("/plain/{}", dice.u8(0..20)),
        };
        if matches!(self.told.kind, Kind::Mine | Kind::Shared | Kind::Public) && dice.u8(0..8) == 0
        {
            method = "HEAD";
        }
        method.clone_into(&mut self.told.method);
        self.told.path = path;
    }

    /// A request with a key: often one that was sent before, with the same body or, sometimes, another.
    fn pay(&mut self, dice: &mut fastrand::Rng) -> String {
        let route = match self.told.kind {
            Kind::Charges => "/charges",
            Kind::Orders => "/orders",
            _ => "/uploads",
        };
        // A few keys of each moment, so that one comes from several at once, and again later.
        let era = self.told.number / BLOCK / 300;
        let era = if dice.u8(0..4) == 0 {
            era.saturating_sub(1 + dice.u64(0..3))
        } else {
            era
        };
        let key = format!("key-{era}-{}", dice.u8(0..4));
        let amount = if dice.u8(0..12) == 0 { 99 } else { era % 50 };
        let padding = if dice.u8(0..10) == 0 {
            20_000
        } else {
            dice.usize(0..200)
        };
        // The same key has the same body, but for those that are meant to differ.
        let padding = if self.told.kind == Kind::Uploads {
            padding
        } else {
            (era % 7 * 31) as usize
        };
        self.body = format!(
            "{{\"amount\":{amount},\"note\":\"{}\"}}",
            "n".repeat(padding)
        )
        .into_bytes();
        if dice.u8(0..150) == 0 {
            self.body.resize(40_000, b' ');
            self.told.large = true;
        }
        self.line("content-type", "application/json");
        let spelt = if dice.bool() {
            format!("\"{key}\"")
        } else {
            key.clone()
        };
        if dice.u8(0..25) > 0 {
            self.line("idempotency-key", spelt);
            let who = self.told.who;
            self.told.record = Some(Record::Once(format!("{who:?} {route} {key}")));
        }
        route.to_owned()
    }

    fn event(&mut self, dice: &mut fastrand::Rng) -> String {
        let era = self.told.number / BLOCK / 400;
        let id = format!("evt-{era}-{}", dice.u8(0..4));
        let path = format!("/hooks/{}", dice.u8(0..2));
        self.line("content-type", "application/json");
        let of = match dice.u8(0..3) {
            0 => {
                self.line("webhook-id", &id);
                self.body = b"{}".to_vec();
                format!("header {id}")
            }
            1 => {
                self.body = format!(
                    "{{\"data\":{{\"id\":\"{id}\"}},\"attempt\":{}}}",
                    dice.u8(0..9)
                )
                .into_bytes();
                format!("json {id}")
            }
            _ => {
                self.body = format!("{{\"event\":\"{id}\"}}").into_bytes();
                format!("body {id}")
            }
        };
        // Events of nobody are not told apart by where they come from.
        let who = match self.told.who {
            Who::Account(number) => number.to_string(),
            Who::Stranger(_) => "nobody".to_owned(),
        };
        self.told.record = Some(Record::Event(format!("{who} {path} {of}")));
        path
    }

    fn turn_hostile(&mut self, dice: &mut fastrand::Rng) {
        let what = *dice.choice(HEADERS.iter()).unwrap_or(&"");
        self.told.hostile = what;
        match what {
            "an identity twice" => {
                self.line("x-api-key", "key-a");
                self.line("x-api-key", "key-b");
                self.line("x-tenant", "a");
                self.line("x-tenant", "b");
            }
            "an identity with a control character" => self.line("x-tenant", b"tenant\x01-0"),
            "an identity with a comma" => self.line("x-tenant", "tenant-0,tenant-1"),
            "an identity with underscores too" => self.line("x_tenant", "tenant-1"),
            "an identity of 2 KiB" => self.line("x-tenant", "t".repeat(2_048)),
            "a token of another issuer" => {
                self.line(
                    "authorization",
                    "Bearer eyJhbGciOiJFUzI1NiJ9.eyJ0ZW5hbnQiOiJ0ZW5hbnQtMSJ9.AAAA",
                );
            }
            "a reserved header" => self.line("x-tidegate-scope", "0".repeat(64)),
            "a reserved parameter" => {
                let divider = if self.told.path.contains('?') {
                    '&'
                } else {
                    '?'
                };
                let mark = "0".repeat(64);
                let _ = write!(self.told.path, "{divider}__tidegat%65={mark}");
            }
            "a huge key" => self.line("idempotency-key", "k".repeat(dice.usize(300..9_000))),
            "a malformed key" => self.line("idempotency-key", b"\"caf\xe9\", \"a\""),
            "two keys" => {
                self.line("idempotency-key", "one");
                self.line("idempotency-key", "two");
            }
            "a body that is no JSON" => {
                if !self.body.is_empty() {
                    self.body = b"{\"data\":{\"id\":".to_vec();
                    self.body.extend((0..dice.u8(0..200)).map(|_| dice.u8(..)));
                }
                // What it is the event of, or the request, is then something else.
                self.forget();
            }
            "a cost that is none" => self.line("x-cost", "1e9"),
            _ => self.odd_path(dice),
        }
        if what.contains("key") || what.contains("identity") {
            // What is refused has no record, and whoever is not refused for it has another one.
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.told.record = None;
    }

    fn odd_path(&mut self, dice: &mut fastrand::Rng) {
        let odd = [
            "/mine/%2e%2e/shared/1",
            "/mine/..;/shared/1",
            "//mine//1",
            "/mine/1%00",
            "/mine/%31",
            "/public/%2f..%2fmine",
            "/%6dine/2?x=%%%",
            "/shared/1?a=1&a=2&&;=",
            "/mine/a%zz%fe%ff",
            "/hooks/",
            "/mine/1?__tidegates=1",
        ];
        let path = dice.choice(odd.iter()).unwrap_or(&"/");
        (*path).clone_into(&mut self.told.path);
        self.told.kind = Kind::Plain;
        // Nor has it the cost of the route that it was for.
        self.told.cost = 1;
        "GET".clone_into(&mut self.told.method);
        self.body.clear();
        self.forget();
    }

    /// The same request with another number.
    pub(crate) fn again(&self, number: u64) -> Self {
        let mut again = self.clone();
        again.told.number = number;
        again.lines[0].1 = number.to_string().into_bytes();
        again
    }

    /// The head of it as HTTP/1.1 writes it, with these lines about the body.
    pub(crate) fn head(&self, framing: &str) -> Vec<u8> {
        let Told { method, path, .. } = &self.told;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {HOST}\r\n").into_bytes();
        for (name, value) in &self.lines {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(framing.as_bytes());
        head.extend_from_slice(b"\r\n");
        head
    }

    /// What says how long its body is.
    pub(crate) fn length(&self) -> String {
        if self.body.is_empty() && matches!(self.told.method.as_str(), "GET" | "HEAD") {
            return String::new();
        }
        format!("content-length: {}\r\n", self.body.len())
    }
}

/// The more often one stands here, the more often it is asked for.
const KINDS: [Kind; 18] = [
    Kind::Charges,
    Kind::Charges,
    Kind::Orders,
    Kind::Orders,
    Kind::Uploads,
    Kind::Events,
    Kind::Events,
    Kind::Mine,
    Kind::Mine,
    Kind::Mine,
    Kind::Shared,
    Kind::Shared,
    Kind::Public,
    Kind::Change,
    Kind::Bulk,
    Kind::Private,
    Kind::Tried,
    Kind::Plain,
];

fn query(dice: &mut fastrand::Rng) -> String {
    match dice.u8(0..4) {
        0 => format!("?page={}", dice.u8(0..3)),
        _ => String::new(),
    }
}
