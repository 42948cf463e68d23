//! Who a request is from, by a plain reader beside the real one.

use tidegate_core::cases::CaseFacts;
use tidegate_core::identity::{Address, Identity, MAX_VALUE_LEN, sign_address};
use tidegate_core::key::Parts;
use tidegate_core::policy::{IdentityRules, Policy, SanType};

use crate::asked::{Asked, Line};

const POLICY: &[u8] = br#"{
  "policy": "identity", "version": "1",
  "identity": {
    "tenant": [{"header": "x-tenant"}, {"query": "tenant"}],
    "account": [{"jwt": "sub"}, {"header": "x-api-key", "secret": true}, {"query": "key"}, {"cookie": "sid"}, {"san": "uri"}],
    "plan": [{"cookie": "plan"}],
    "address": {"ipv6_prefix": 56, "signed": {"header": "x-address", "key_env": "ADDRESS_KEY"}}
  }
}"#;

const NOW: u64 = 1_700_000_000;
const KEY: &[u8] = b"an address key";

/// A caller is who a plain reader of the sources would say; spelling and order of what is not the caller's change nothing; present twice
/// is nobody.
pub fn identity(data: &[u8]) {
    let rules = Policy::parse(POLICY).expect("a policy").identity;
    let asked = Asked::read(data);
    let lines = asked.lines();
    let facts = facts(&lines);
    let found = who(&rules, &asked, &lines, &facts);
    assert_eq!(found, who(&rules, &asked, &lines, &facts));
    let mut more = lines.clone();
    more.insert(lines.len() / 2, (b"x-unrelated", b"1"));
    assert_eq!(found, who(&rules, &asked, &more, &facts), "another header");
    match &found {
        Ok(found) => known(found, &rules, &asked, &lines, &facts),
        Err((source, fault)) => {
            assert!(!source.is_empty() && !fault.is_empty());
            assert!(!fault.contains('\n'));
        }
    }
    if let Some(address) = Address::of_peer(data, 56) {
        let shown = address.to_string();
        let bare = shown.split('/').next().unwrap_or_default();
        assert_eq!(Address::of_peer(bare.as_bytes(), 56), Some(address));
    }
}

/// What a request says who it is from: tenant, account, plan and address, each as its one encoding.
type Who = [Option<Vec<u8>>; 4];

fn who(
    rules: &IdentityRules,
    asked: &Asked<'_>,
    lines: &[Line<'_>],
    facts: &CaseFacts,
) -> Result<Who, (String, &'static str)> {
    let request = asked.request(lines, facts);
    let identity = Identity::of(rules, &request).map_err(|found| (found.source, found.fault))?;
    let parts = [&identity.tenant, &identity.account, &identity.plan].map(|part| {
        let part = part.as_ref()?;
        let secret = part.source == "x-api-key";
        let value = &part.value;
        assert!(!value.trim_ascii().is_empty(), "nobody is somebody");
        assert!(value.len() <= MAX_VALUE_LEN);
        assert!(!value.iter().any(u8::is_ascii_control), "{value:?}");
        assert!(!secret || (value.starts_with(b"sha256:") && value.len() == 71));
        let mut parts = Parts::new();
        part.push_to(&mut parts);
        Some(parts.as_bytes().to_vec())
    });
    let address = identity.address().map(|address| {
        let mut parts = Parts::new();
        address.push_to(&mut parts);
        parts.as_bytes().to_vec()
    });
    let [tenant, account, plan] = parts;
    Ok([tenant, account, plan, address])
}

/// What holds of a caller who is known, or is nobody.
fn known(
    found: &Who,
    rules: &IdentityRules,
    asked: &Asked<'_>,
    lines: &[Line<'_>],
    facts: &CaseFacts,
) {
    let mut tenants = lines.iter().filter(|(name, _)| *name == b"x-tenant");
    let (tenant, second) = (tenants.next(), tenants.next());
    assert!(second.is_none(), "present twice, and somebody");
    let spoken = |line: &&Line<'_>| !line.1.trim_ascii().is_empty();
    if let Some((_, value)) = tenant.filter(spoken) {
        assert!(!value.contains(&b','), "joined, and somebody");
        let encoding = found[0].as_ref().expect("a tenant in a header");
        assert!(encoding.ends_with(value), "another tenant");
        // The same again is two.
        let mut twice = lines.to_vec();
        twice.push((b"x-tenant", value));
        who(rules, asked, &twice, facts).expect_err("twice is somebody");
        // With underscores some origins read another.
        let mut twin = lines.to_vec();
        twin.push((b"x_tenant", b"other"));
        who(rules, asked, &twin, facts).expect_err("a twin is somebody");
        // Another one is another.
        let mut other = lines.to_vec();
        let longer = [value, &b"x"[..]].concat();
        for line in &mut other {
            if line.0 == b"x-tenant" {
                line.1 = &longer;
            }
        }
        if let Ok(other) = who(rules, asked, &other, facts) {
            assert_ne!(other[0], found[0], "two tenants are one");
        }
    } else {
        spelt(found, rules, asked, lines, facts);
    }
}

/// A parameter of the query is the same caller in every encoding.
fn spelt(
    found: &Who,
    rules: &IdentityRules,
    asked: &Asked<'_>,
    lines: &[Line<'_>],
    facts: &CaseFacts,
) {
    let mut halves = asked.path.splitn(2, |byte| *byte == b'?');
    let (path, Some(query)) = (halves.next().unwrap_or_default(), halves.next()) else {
        return;
    };
    let mut spelt = [path, b"?"].concat();
    for (number, pair) in query.split(|byte| *byte == b'&').enumerate() {
        if number > 0 {
            spelt.push(b'&');
        }
        let Some(value) = pair.strip_prefix(b"tenant=") else {
            spelt.extend_from_slice(pair);
            continue;
        };
        spelt.extend_from_slice(b"%74enan%74=");
        let mut rest = value;
        while let Some((first, after)) = rest.split_first() {
            match first {
                b'%' => spelt.push(b'%'),
                b'+' => spelt.extend_from_slice(b"%20"),
                byte => spelt.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            }
            rest = after;
            if *first == b'%' {
                // Two digits, as the value was read.
                spelt.extend_from_slice(&rest[..2.min(rest.len())]);
                rest = &rest[2.min(rest.len())..];
            }
        }
    }
    let other = Asked {
        path: &spelt,
        ..asked.clone()
    };
    let other = who(rules, &other, lines, facts);
    assert_eq!(other.as_ref(), Ok(found), "spelt otherwise");
}

/// What the proxy knows, of which some is in lines that no client sends here.
fn facts(lines: &[Line<'_>]) -> CaseFacts {
    let text = |name: &[u8]| {
        let line = lines.iter().find(|(known, _)| *known == name)?;
        Some(String::from_utf8_lossy(line.1).into_owned())
    };
    let signed = sign_address([192, 0, 2, 1].into(), NOW, KEY);
    assert!(signed.len() < 128);
    CaseFacts {
        address: text(b"(address)").unwrap_or_else(|| "192.0.2.1:4711".to_owned()),
        claims: text(b"(claims)").and_then(|claims| serde_json::from_str(&claims).ok()),
        san: text(b"(san)")
            .map(|san| (SanType::Uri, san))
            .into_iter()
            .collect(),
        address_key: KEY.to_vec(),
        unix_seconds: NOW,
        ..CaseFacts::default()
    }
}
