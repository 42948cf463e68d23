//! `HAProxy` with a stick table that counts requests: as its manual begins, and with what it has beside.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use anyhow::Result;

use super::Behind;
use crate::limit::Limit;

/// The longest period that its counters take.
const LONGEST: u128 = 86_400_000;

/// How a stick table is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StickTable {
    /// Each request is counted, also one that is refused then, and a full table drops the oldest entries.
    Plain,
    /// The counter is looked at before it counts: what is refused is not counted.
    LooksFirst,
    /// A full table takes nobody in: who has no entry is not counted, and so let through.
    Keeps,
    /// A new process gets the table from the old one.
    HandedOver,
    /// The three together, and who has no entry is refused.
    Strict,
}

impl StickTable {
    const fn looks_first(self) -> bool {
        matches!(self, Self::LooksFirst | Self::Strict)
    }

    const fn keeps(self) -> bool {
        matches!(self, Self::Keeps | Self::Strict)
    }

    /// Whether a new process gets it from the old one.
    pub(crate) const fn handed_over(self) -> bool {
        matches!(self, Self::HandedOver | Self::Strict)
    }
}

/// What a configuration is made of.
pub(super) struct Conf {
    limit: Option<(StickTable, Limit)>,
    behind: Behind,
    workers: u32,
    /// Where a new process gets the table from the old one.
    peer: Option<SocketAddr>,
}

impl Conf {
    pub(super) fn new(
        limit: Option<(StickTable, Limit)>,
        behind: Behind,
        workers: u32,
    ) -> Result<Self> {
        let handed_over = limit.is_some_and(|(table, _)| table.handed_over());
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr();
        Ok(Self {
            limit,
            behind,
            workers,
            peer: handed_over.then(free).transpose()?,
        })
    }

    /// The configuration that listens on `address`.
    pub(super) fn text(&self, address: SocketAddr, folder: &Path) -> String {
        let peers = self.peer.map(|at| format!("peers all\n peer here {at}\n"));
        let limit = self.limit.map(|(table, limit)| limiter(table, limit));
        let (content, backend) = match self.behind {
            Behind::Itself => (
                "http-request return status 200 content-type application/json string \"{}\"",
                String::new(),
            ),
            Behind::Origin(at) => (
                "default_backend origin",
                format!("backend origin\n http-reuse always\n server origin {at}\n"),
            ),
        };
        format!(
            "global\n nbthread {}\n maxconn 4096\n stats socket {}/admin.sock mode 600 level admin expose-fd listeners\n\
             defaults\n mode http\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n\
             {}frontend in\n bind {address}\n{} {content}\n{backend}",
            self.workers,
            folder.display(),
            peers.unwrap_or_default(),
            limit.unwrap_or_default(),
        )
    }
}

/// So many requests in a sliding window, which is what a stick table can say: it has no burst beside the rate. An entry stays
/// as long as it can matter. A refusal tells the length of the window, since a table does not say when a request comes back.
fn limiter(table: StickTable, limit: Limit) -> String {
    let window = limit.window().as_millis().min(LONGEST);
    let expire = (2 * window).min(LONGEST);
    let seconds = window.div_ceil(1_000);
    let Limit {
        burst, accounts, ..
    } = limit;
    let keeps = if table.keeps() { " nopurge" } else { "" };
    let shared = if table.handed_over() {
        " peers all"
    } else {
        ""
    };
    let deny = format!(
        "http-request deny deny_status 429 content-type text/plain string \"too many requests\" hdr retry-after {seconds} if"
    );
    let count = "http-request track-sc0 req.hdr(x-account)";
    let rules = if table.looks_first() {
        format!(" {deny} {{ req.hdr(x-account),table_http_req_rate ge {burst} }}\n {count}\n")
    } else {
        format!(" {count}\n {deny} {{ sc_http_req_rate(0) gt {burst} }}\n")
    };
    let unknown = if table == StickTable::Strict {
        format!(" {deny} !{{ sc_tracked(0) }}\n")
    } else {
        String::new()
    };
    format!(
        " stick-table type string len 32 size {accounts} expire {expire}ms{keeps} store http_req_rate({window}ms){shared}\n\
         {rules}{unknown}"
    )
}
