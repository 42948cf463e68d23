//! Who may ask: who comes by an address of this machine, by its own name, and from its own pages.
//!
//! A browser on this machine can be made to send requests here by any page that it shows. By a name of its own the page would
//! read the answers too (DNS rebinding), so names are refused that the policy does not have; an address cannot be made to point elsewhere.
//! What a page sends blindly is refused by where it says it comes from (`Sec-Fetch-Site`, `Origin`), which no page can choose.

use core::net::{IpAddr, SocketAddr};

use super::Asked;
use super::reply::Refusal;
use crate::policy::Admin;

pub(super) fn check(rule: &Admin, asked: &Asked<'_>) -> Result<(), Refusal> {
    local(rule, asked)?;
    named(rule, asked)?;
    if matches!(asked.method, b"GET" | b"HEAD") {
        return Ok(());
    }
    own_page(asked)
}

/// The connection came by loopback, or by an address that the policy has.
fn local(rule: &Admin, asked: &Asked<'_>) -> Result<(), Refusal> {
    let text = str::from_utf8(asked.local).unwrap_or_default();
    let socket = text.parse::<SocketAddr>().map(|socket| socket.ip());
    let Ok(ip) = socket.or_else(|_| text.parse::<IpAddr>()) else {
        return Err(Refusal::forbidden(
            "the address of this listener is not known; mount the role `admin` on 127.0.0.1",
        ));
    };
    let ip = ip.to_canonical();
    if ip.is_loopback() || rule.addresses.iter().any(|known| known.has(ip)) {
        return Ok(());
    }
    Err(Refusal::forbidden(format!(
        "`{ip}` is not loopback; mount the role `admin` on 127.0.0.1, or write `\"admin\": {{\"addresses\": [\"{ip}\"]}}` into the policy"
    )))
}

/// It was asked for by an address, as `localhost`, or by a name that the policy has.
fn named(rule: &Admin, asked: &Asked<'_>) -> Result<(), Refusal> {
    let authority = str::from_utf8(asked.authority).unwrap_or_default();
    let host = host(authority).to_ascii_lowercase();
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(&host);
    if bare.parse::<IpAddr>().is_ok() || host == "localhost" || rule.hosts.contains(&host) {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "this is asked for by a name that the policy does not have; ask for 127.0.0.1, or write the name into the policy, like `\"admin\": {\"hosts\": [\"tidegate.internal\"]}`",
    ))
}

/// The authority without its port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// No page of somebody else sends it.
fn own_page(asked: &Asked<'_>) -> Result<(), Refusal> {
    let lines = |name: &'static [u8]| {
        let own = move |line: &&(&[u8], &[u8])| line.0 == name;
        asked.headers.iter().filter(own).map(|(_, value)| *value)
    };
    let own_site = |value: &[u8]| matches!(value, b"same-origin" | b"none");
    let own_origin = |value: &[u8]| {
        let authority = value
            .strip_prefix(b"http://")
            .or_else(|| value.strip_prefix(b"https://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(asked.authority))
    };
    if lines(b"sec-fetch-site").all(own_site) && lines(b"origin").all(own_origin) {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "a page of another site sends this; send it from the page of this role, or from no page at all",
    ))
}
