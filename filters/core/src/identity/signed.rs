//! Client addresses that a front passes in a header, because it hides the address of the connection.
//!
//! ```text
//! x-client-address: "192.0.2.7";t=1764450000;mac=:5Ba2…=:
//! ```
//!
//! A structured field Item (RFC 9651, section 3.3): the address as a String, the time of signing in seconds
//! since 1970, and HMAC-SHA-256 over everything before `;mac=`. Written in just this form; a signature older
//! than the policy's `max_age` is refused, so that an address whose owner has gone cannot be passed for long.

use core::net::IpAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Ambiguity;
use crate::policy::SignedAddressRule;
use crate::quota::NANOS_PER_SEC;
use crate::request::Request;

/// How far ahead of our clock a front's clock may be, in seconds.
const MAX_SKEW: u64 = 5;

/// The address that the header passes; `None` if there is no such header.
pub(super) fn read(
    rule: &SignedAddressRule,
    request: &Request<'_>,
) -> Result<Option<IpAddr>, Ambiguity> {
    let refuse = |fault| Ambiguity {
        source: format!("header {}", rule.header),
        fault,
    };
    if request.has_twin(&rule.header) {
        return Err(refuse(
            "is also there with underscores; send it once, with hyphens",
        ));
    }
    let mut lines = request.lines(&rule.header);
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err(refuse("is present twice; send it once"));
    }
    let parsed = parse(line).ok_or_else(|| {
        refuse(r#"is not a signed address; write "ADDRESS";t=SECONDS;mac=:BASE64:"#)
    })?;
    let key = request.facts.address_key();
    let verified = !key.is_empty()
        && mac(key, parsed.signed).is_some_and(|mac| mac.verify_slice(&parsed.mac).is_ok());
    if !verified {
        return Err(refuse(
            "is signed with another key; sign it with the key of this edge",
        ));
    }
    let now = request.facts.unix_seconds();
    if now.saturating_sub(parsed.time) > rule.max_age / NANOS_PER_SEC {
        return Err(refuse("was signed too long ago; sign each request"));
    }
    if parsed.time.saturating_sub(now) > MAX_SKEW {
        return Err(refuse("was signed in the future; set the clock"));
    }
    Ok(Some(parsed.ip))
}

/// The header value that passes `ip`, signed at `unix_seconds` with `key`: what a front has to send.
pub fn sign_address(ip: IpAddr, unix_seconds: u64, key: &[u8]) -> String {
    let signed = format!("\"{ip}\";t={unix_seconds}");
    let bytes = mac(key, signed.as_bytes())
        .map(|mac| mac.finalize().into_bytes())
        .unwrap_or_default();
    format!("{signed};mac=:{}:", base64::encode(&bytes))
}

struct Parsed<'a> {
    ip: IpAddr,
    time: u64,
    signed: &'a [u8],
    mac: Vec<u8>,
}

fn parse(line: &[u8]) -> Option<Parsed<'_>> {
    let text = core::str::from_utf8(line).ok()?;
    let (signed, mac) = text.split_once(";mac=")?;
    let (ip, time) = signed.split_once(";t=")?;
    let ip = ip.strip_prefix('"')?.strip_suffix('"')?;
    if time.is_empty() || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Parsed {
        ip: ip.parse().ok()?,
        time: time.parse().ok()?,
        signed: signed.as_bytes(),
        mac: base64::decode(mac.strip_prefix(':')?.strip_suffix(':')?)?,
    })
}

fn mac(key: &[u8], signed: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(signed);
    Some(mac)
}

mod base64 {
    //! Base64 as structured fields write a Byte Sequence.
    use base64ct::{Base64, Encoding as _};

    pub(super) fn encode(bytes: &[u8]) -> String {
        Base64::encode_string(bytes)
    }

    pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
        // A digest has 32 bytes, so 44 characters.
        (text.len() == 44).then(|| Base64::decode_vec(text).ok())?
    }
}
