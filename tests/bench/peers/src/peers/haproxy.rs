//! `HAProxy` with a stick table that counts requests.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use anyhow::Result;

use super::Behind;
use crate::limit::Limit;

/// The longest period that its counters take.
const LONGEST: u128 = 86_400_000;

/// What a configuration is made of.
pub(super) struct Conf {
    limit: Option<Limit>,
    behind: Behind,
    workers: u32,
    /// Where a new process gets the table from the old one.
    peer: Option<SocketAddr>,
}

impl Conf {
    pub(super) fn new(
        limit: Option<Limit>,
        behind: Behind,
        workers: u32,
        handed_over: bool,
    ) -> Result<Self> {
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
        let shared = if peers.is_some() { " peers all" } else { "" };
        let limit = self.limit.map(|limit| limiter(limit, shared));
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
/// as long as it can matter.
fn limiter(limit: Limit, shared: &str) -> String {
    let window = limit.window().as_millis().min(LONGEST);
    let expire = (2 * window).min(LONGEST);
    let Limit {
        burst, accounts, ..
    } = limit;
    format!(
        " stick-table type string len 32 size {accounts} expire {expire}ms store http_req_rate({window}ms){shared}\n \
          http-request track-sc0 req.hdr(x-account)\n \
          http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt {burst} }}\n"
    )
}
