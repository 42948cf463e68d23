//! Where the role `admin` answers.

use core::net::IpAddr;

/// Where the role `admin` answers beside the machine itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admin {
    /// Addresses of our own on which it answers beside loopback.
    pub addresses: Vec<Network>,
    /// Names by which it may be asked for beside IP addresses and `localhost`, in lower case.
    pub hosts: Vec<String>,
}

/// An address, or all that begin like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    ip: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of the first `prefix` bits of `ip`; `None` where there are not so many.
    pub fn new(ip: IpAddr, prefix: u8) -> Option<Self> {
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let ip = match ip {
            IpAddr::V4(ip) => IpAddr::V4((ip.to_bits() & mask_of_32(prefix)).into()),
            IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & mask(prefix)).into()),
        };
        (prefix <= most).then_some(Self { ip, prefix })
    }

    /// Its first address.
    pub const fn ip(&self) -> IpAddr {
        self.ip
    }

    /// Whether an address belongs to it.
    pub fn has(&self, ip: IpAddr) -> bool {
        let own = Self::new(ip.to_canonical(), self.prefix);
        own.is_some_and(|own| own == *self)
    }
}

impl core::str::FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (ip, prefix) = match text.split_once('/') {
            Some((ip, prefix)) => (ip, Some(prefix)),
            None => (text, None),
        };
        let ip: IpAddr = ip.parse().map_err(|_| ())?;
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| ())?
            }
            Some(_) => return Err(()),
            None if ip.is_ipv4() => 32,
            None => 128,
        };
        Self::new(ip, prefix).ok_or(())
    }
}

impl core::fmt::Display for Network {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

/// The first so many of 128 bits.
fn mask(prefix: u8) -> u128 {
    let rest = 128_u32.saturating_sub(u32::from(prefix));
    u128::MAX.checked_shl(rest).unwrap_or(0)
}

/// The first so many of 32 bits.
fn mask_of_32(prefix: u8) -> u32 {
    let rest = 32_u32.saturating_sub(u32::from(prefix));
    u32::MAX.checked_shl(rest).unwrap_or(0)
}
