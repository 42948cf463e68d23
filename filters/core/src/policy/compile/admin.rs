//! Where the role `admin` answers.

use deserr::ValuePointerRef;

use crate::policy::document::{Admin as WireAdmin, List};
use crate::policy::faults::Faults;
use crate::policy::mistake::shown;
use crate::policy::{Admin, Network};

/// The most addresses, and names.
const MOST: usize = 16;

pub(super) fn admin(wire: WireAdmin, at: ValuePointerRef<'_>, faults: &mut Faults) -> Admin {
    let WireAdmin { addresses, hosts } = wire;
    Admin {
        addresses: read(
            addresses,
            at.push_key("addresses"),
            faults,
            "addresses",
            network,
        ),
        hosts: read(hosts, at.push_key("hosts"), faults, "hosts", host),
    }
}

fn read<T>(
    list: Option<List<String>>,
    at: ValuePointerRef<'_>,
    faults: &mut Faults,
    what: &str,
    one: fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let list = list.unwrap_or_default();
    faults.at_most(at, MOST, list.len(), what);
    let mut read = Vec::new();
    for (index, text) in list.into_iter().take(MOST).enumerate() {
        match text.map(|text| one(&text)) {
            Some(Ok(good)) => read.push(good),
            Some(Err(fault)) => faults.add(at.push_index(index), fault),
            None => {}
        }
    }
    read
}

fn network(text: &str) -> Result<Network, String> {
    let network: Network = text.parse().map_err(|()| {
        let text = shown(text);
        format!("`{text}` is not an address; write one of Envoy's own, like `10.1.2.3`, or a network of such, like `10.0.0.0/8`")
    })?;
    let (address, _) = text.split_once('/').unwrap_or((text, ""));
    if address.parse() != Ok(network.ip()) {
        let text = shown(text);
        return Err(format!(
            "`{text}` says more than its network has; write `{network}`"
        ));
    }
    Ok(network)
}

/// A name as an authority has it, in lower case.
fn host(text: &str) -> Result<String, String> {
    let letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    if (1..=253).contains(&text.len()) && text.bytes().all(letter) {
        return Ok(text.to_owned());
    }
    let text = shown(text);
    Err(format!(
        "`{text}` is not a host; write a name in lower case, without scheme and port, like `tidegate.internal`"
    ))
}
