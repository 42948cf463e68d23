//! Many charges at little cost: each connection has several on their way, written and read by hand.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use tidegate_e2e::Envoy;

use crate::parts::head;
use crate::stand::CHARGES;

const CONNECTIONS: usize = 8;

/// How many requests are on their way on one connection.
const BATCH: usize = 32;

/// How long a batch may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Sends a charge without a body for each of these keys; how often each status came.
pub(crate) async fn flood(envoy: &Envoy, keys: std::ops::Range<usize>) -> BTreeMap<u16, usize> {
    let mut running = Vec::new();
    for first in 0..CONNECTIONS {
        let keys: Vec<usize> = keys.clone().skip(first).step_by(CONNECTIONS).collect();
        let authority = envoy.authority();
        running.push(tokio::task::spawn_blocking(move || send(&authority, &keys)));
    }
    let mut all = BTreeMap::new();
    for statuses in running {
        for status in statuses.await.unwrap().unwrap() {
            *all.entry(status).or_default() += 1;
        }
    }
    all
}

fn send(authority: &str, keys: &[usize]) -> Result<Vec<u16>> {
    let stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut statuses = Vec::new();
    let mut line = String::new();
    for batch in keys.chunks(BATCH) {
        let heads: String = batch
            .iter()
            .map(|key| head(CHARGES, &format!("key-{key}"), "content-length: 0\r\n"))
            .collect();
        stream.get_mut().write_all(heads.as_bytes())?;
        for _ in batch {
            let mut length = 0;
            let mut first = true;
            loop {
                line.clear();
                stream.read_line(&mut line)?;
                if first {
                    let status = line.split(' ').nth(1).context("a status")?;
                    statuses.push(status.parse()?);
                    first = false;
                }
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse()?;
                }
                if line == "\r\n" {
                    break;
                }
            }
            std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink())?;
        }
    }
    Ok(statuses)
}
