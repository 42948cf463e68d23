//! Client addresses: parsed, never compared as text, and cut to the prefix that tells callers apart.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::key::Parts;

/// Tags in keys.
const TAG_V4: u8 = 16;
const TAG_V6: u8 = 17;

/// An address, or the IPv6 network that stands for a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    ip: IpAddr,
    prefix: u8,
}

impl Address {
    /// `ip`, an IPv4-mapped one unmapped first (`::ffff:192.0.2.1` is `192.0.2.1`), then an IPv6 one cut
    /// to its first `ipv6_prefix` bits.
    pub fn new(ip: IpAddr, ipv6_prefix: u8) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self {
                ip: IpAddr::V4(ip),
                prefix: 32,
            },
            IpAddr::V6(ip) => {
                let prefix = ipv6_prefix.min(128);
                let host_bits = 128_u32.saturating_sub(u32::from(prefix));
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                Self {
                    ip: IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask)),
                    prefix,
                }
            }
        }
    }

    /// The address of a peer as the proxy names it: `192.0.2.1:4711`, `[2001:db8::1]:4711`, or either
    /// without its port. Anything else, such as the path of a pipe, is no address.
    pub fn of_peer(peer: &[u8], ipv6_prefix: u8) -> Option<Self> {
        let peer = core::str::from_utf8(peer).ok()?;
        let ip = peer
            .parse::<SocketAddr>()
            .map(|socket| socket.ip())
            .or_else(|_| peer.parse::<IpAddr>())
            .ok()?;
        Some(Self::new(ip, ipv6_prefix))
    }

    /// Adds what tells this address from every other.
    pub fn push_to(&self, parts: &mut Parts) {
        match self.ip {
            IpAddr::V4(ip) => parts.push(TAG_V4, &Ipv4Addr::octets(&ip)),
            IpAddr::V6(ip) => {
                parts.push(TAG_V6, &[self.prefix]);
                parts.push(TAG_V6, &ip.octets());
            }
        }
    }
}

impl core::fmt::Display for Address {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.ip {
            IpAddr::V6(_) if self.prefix < 128 => write!(f, "{}/{}", self.ip, self.prefix),
            ip => write!(f, "{ip}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(peer: &str) -> String {
        Address::of_peer(peer.as_bytes(), 64).map_or("none".to_owned(), |a| a.to_string())
    }

    #[test]
    fn d10_port_and_brackets_are_no_part_of_an_address() {
        assert_eq!(shown("192.0.2.7:4711"), "192.0.2.7");
        assert_eq!(shown("192.0.2.7"), "192.0.2.7");
        assert_eq!(shown("[2001:db8:1:2:3:4:5:6]:4711"), "2001:db8:1:2::/64");
    }

    #[test]
    fn d10_d14_what_is_no_address_is_unidentified() {
        for peer in [
            "",
            "/var/run/x.sock",
            "envoy://internal/",
            "1.2.3.4.5:1",
            "1.2.3.4:99999",
            "\u{e9}",
        ] {
            assert_eq!(shown(peer), "none", "{peer}");
        }
    }

    #[test]
    fn d11_mapped_addresses_are_ipv4_before_the_prefix_is_cut() {
        assert_eq!(shown("[::ffff:192.0.2.7]:1"), "192.0.2.7");
        assert_eq!(shown("[::ffff:c000:207]:1"), "192.0.2.7");
    }

    #[test]
    fn d12_other_addresses_that_end_in_dots_are_ipv6() {
        assert_eq!(shown("[2001:db8::192.0.2.7]:1"), "2001:db8::/64");
    }

    #[test]
    fn d13_one_network_is_one_address_however_it_is_spelt() {
        let one = Address::of_peer(b"[2001:db8:0:1::1]:1", 64);
        for other in [
            "[2001:DB8:0:1:0:0:0:1]:9",
            "[2001:0db8:0000:0001:ffff::]:1",
            "2001:db8:0:1:8000::",
        ] {
            assert_eq!(Address::of_peer(other.as_bytes(), 64), one, "{other}");
        }
        assert_ne!(Address::of_peer(b"[2001:db8:0:2::1]:1", 64), one);
        assert_ne!(
            Address::of_peer(b"[2001:db8:0:1::1]:1", 128),
            Address::of_peer(b"[2001:db8:0:1::2]:1", 128)
        );
    }
}
