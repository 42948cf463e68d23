//! What is asked for, and by whom.

use std::io::Write as _;

/// The path, without the query.
pub(crate) const PATH: &str = "/v1/things";

/// The length of the body of a POST, in bytes.
const BODY: usize = 200;

/// Who sends the requests, and which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers {
    /// How many tenants take turns.
    pub(crate) tenants: u32,
    /// How many accounts take turns.
    pub(crate) accounts: u32,
    /// What they ask for.
    pub(crate) asks: Asks,
}

/// What callers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// All for the first page.
    FirstPage,
    /// Each account for a page of its own.
    OwnPage,
    /// A POST with a key that no request had before.
    NewKey,
    /// A POST with the one key that the account has.
    OwnKey,
    /// The same; once the load is warm, with another body than the key had first.
    OtherBody,
}

impl Callers {
    /// Writes the request of this turn; `warm`: whether the measuring has begun.
    pub(crate) fn write(self, turn: u32, warm: bool, request: &mut Vec<u8>) {
        let account = turn % self.accounts;
        let tenant = account % self.tenants;
        let (method, page, key) = match self.asks {
            Asks::FirstPage => ("GET", 1, None),
            Asks::OwnPage => ("GET", 1 + account, None),
            Asks::NewKey => ("POST", 1, Some(turn)),
            Asks::OwnKey | Asks::OtherBody => ("POST", 1, Some(account)),
        };
        request.clear();
        // A vector takes whatever is written to it.
        let _ = write!(
            request,
            "{method} {PATH}?page={page} HTTP/1.1\r\nhost: api.test\r\nuser-agent: bench\r\naccept: */*\r\n\
             x-tenant-id: tenant-{tenant:04}\r\nx-account: account-{account:08}\r\n"
        );
        let Some(key) = key else {
            request.extend(b"\r\n");
            return;
        };
        let _ = write!(
            request,
            "idempotency-key: \"key-{key:010}\"\r\ncontent-type: application/json\r\ncontent-length: {BODY}\r\n\r\n"
        );
        let amount = if warm && self.asks == Asks::OtherBody {
            35_000
        } else {
            34_000
        };
        let start = request.len();
        let _ = write!(request, r#"{{"amount":{amount},"currency":"usd","note":""#);
        request.resize(start + BODY - 2, b'x');
        request.extend(br#""}"#);
    }
}
