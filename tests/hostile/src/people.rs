//! Who calls: the accounts of a few tenants, each with a way of its own to say who it is.

use anyhow::Result;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tidegate_e2e::jwt::Issuer;

/// How many tenants there are, and how many accounts each has.
pub(crate) const TENANTS: usize = 3;
pub(crate) const ACCOUNTS: usize = 4;

/// What every secret begins with, so that one is found wherever it stands.
pub(crate) const SECRET: &[u8] = b"tgs-";

/// How many bytes a secret has, its beginning included.
pub(crate) const SECRET_LEN: usize = 20;

/// The host that everybody asks.
pub(crate) const HOST: &str = "api.test";

/// Whom a request is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Who {
    /// An account.
    Account(usize),
    /// Nobody who is known; the last byte of the address 127.0.0.x tells them apart.
    Stranger(u8),
}

/// An account.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) tenant: usize,
    pub(crate) paid: bool,
    /// Header lines that say who it is.
    pub(crate) lines: Vec<(&'static str, String)>,
    /// A parameter of the query that says it, where no header does.
    pub(crate) query: Option<String>,
}

/// Everybody, and what nobody else may see of them.
#[derive(Debug)]
pub(crate) struct People {
    pub(crate) all: Vec<Person>,
    seed: u64,
}

impl People {
    /// The accounts; tokens are signed by `issuer`.
    pub(crate) fn new(seed: u64, issuer: &Issuer) -> Result<Self> {
        let mut all = Vec::new();
        for number in 0..TENANTS * ACCOUNTS {
            let (tenant, account) = (number / ACCOUNTS, number % ACCOUNTS);
            let paid = account == 0;
            let mut lines = Vec::new();
            let mut query = None;
            // Of one tenant all say the tenant in the same way: from another source it is another tenant.
            if tenant == 1 {
                let mut claims = json!({"tenant": "tenant-1", "sub": format!("account-{account}")});
                if paid {
                    claims["plan"] = json!("paid");
                }
                lines.push(("authorization", format!("Bearer {}", issuer.token(claims)?)));
            } else {
                lines.push(("x-tenant", format!("tenant-{tenant}")));
                let value = format!("key-{tenant}-{account}");
                match (tenant, account) {
                    (0, _) => lines.push(("x-api-key", value)),
                    (_, 0 | 1) => lines.push(("cookie", format!("theme=dark; sid={value}"))),
                    _ => query = Some(format!("key={value}")),
                }
                if paid {
                    lines.push(("x-plan", "paid".to_owned()));
                }
            }
            all.push(Person {
                tenant,
                paid,
                lines,
                query,
            });
        }
        Ok(Self { all, seed })
    }

    /// The tenant of whoever it is.
    pub(crate) fn tenant(&self, who: Who) -> Option<usize> {
        match who {
            Who::Account(number) => self.all.get(number).map(|person| person.tenant),
            Who::Stranger(_) => None,
        }
    }

    /// What only this caller may see.
    pub(crate) fn secret(&self, who: Who) -> String {
        self.named(&format!("{who:?}"))
    }

    /// What only callers of this tenant may see.
    pub(crate) fn secret_of_tenant(&self, tenant: usize) -> String {
        self.named(&format!("tenant {tenant}"))
    }

    fn named(&self, name: &str) -> String {
        let digest = Sha256::digest(format!("{}: {name}", self.seed));
        let digits: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
        format!("tgs-{digits}")
    }
}
