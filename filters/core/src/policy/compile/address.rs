//! How the client address is read.

use deserr::ValuePointerRef;

use super::duration::{SECOND, SIGNATURE_AGE, duration};
use super::{header, number};
use crate::policy::document::{Address, Signed};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{AddressRule, SignedAddressRule};

pub(super) fn address(
    rule: Address,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<AddressRule> {
    let Address {
        ipv6_prefix,
        signed,
    } = rule;
    let default = AddressRule::default();
    let prefix = match ipv6_prefix {
        Some(bits) => number::within(bits, 1..=128, at.push_key("ipv6_prefix"), faults),
        None => Some(u64::from(default.ipv6_prefix)),
    };
    let signed = signed.map(|rule| self::signed(rule, at.push_key("signed"), faults));
    Some(AddressRule {
        ipv6_prefix: u8::try_from(prefix?).ok()?,
        signed: match signed {
            Some(signed) => Some(signed?),
            None => default.signed,
        },
    })
}

fn signed(rule: Signed, at: ValuePointerRef<'_>, faults: &mut Faults) -> Option<SignedAddressRule> {
    let Signed {
        header,
        key_env,
        max_age,
    } = rule;
    let header = match header {
        Some(name) => header::telling(&name, at.push_key("header"), faults),
        None => {
            faults.missing(at, "header", "the header's name, like `x-client-address`");
            None
        }
    };
    let key_env = match key_env {
        Some(name) => variable(name, at.push_key("key_env"), faults),
        None => {
            faults.missing(
                at,
                "key_env",
                "an environment variable's name, like `ADDRESS_KEY`",
            );
            None
        }
    };
    let max_age = match max_age {
        Some(text) => duration(&text, &SIGNATURE_AGE, at.push_key("max_age"), faults),
        None => Some(SECOND.saturating_mul(60)),
    };
    Some(SignedAddressRule {
        header: header?,
        key_env: key_env?,
        max_age: max_age?,
    })
}

pub(super) fn variable(
    name: String,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
) -> Option<String> {
    let first = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let good = name.len() <= 128
        && name.bytes().next().is_some_and(first)
        && name
            .bytes()
            .all(|byte| first(byte) || byte.is_ascii_digit());
    if !good {
        let name = shown(&name);
        faults.add(
            at,
            format!("`{name}` is not an environment variable's name; write it like `ADDRESS_KEY`"),
        );
    }
    good.then_some(name)
}
