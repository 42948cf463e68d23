//! The claims of cases as signed tokens.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use tidegate_core::cases::Case;
use tidegate_e2e::jwt::Issuer;

/// The tokens of each case, one for each step that has claims, and those who signed them.
pub(crate) struct Tokens {
    pub(crate) by_case: Vec<Vec<Option<String>>>,
    issuers: BTreeMap<String, Issuer>,
}

impl Tokens {
    pub(crate) fn sign(cases: &[Case]) -> Result<Self> {
        let mut issuers = BTreeMap::new();
        let mut sign = |claims: &Value| {
            let name = claims["iss"].as_str().context("claims have an `iss`")?;
            if !issuers.contains_key(name) {
                issuers.insert(name.to_owned(), Issuer::new(name)?);
            }
            let token = issuers[name].token(claims.clone())?;
            says(&token, claims)?;
            Ok(token)
        };
        let by_case = cases
            .iter()
            .map(|case| {
                let claims = case.steps.iter().map(|step| step.request.claims.as_ref());
                claims
                    .map(|claims| claims.map(&mut sign).transpose())
                    .collect()
            })
            .collect::<Result<_>>()?;
        Ok(Self { by_case, issuers })
    }

    /// For Envoy, which needs their keys.
    pub(crate) fn take_issuers(&mut self) -> impl Iterator<Item = Issuer> {
        std::mem::take(&mut self.issuers).into_values()
    }
}

/// Claims reach the token as they are, large numbers too.
fn says(token: &str, claims: &Value) -> Result<()> {
    let payload = token.split('.').nth(1).context("a token of three parts")?;
    let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload)?)?;
    for (name, value) in claims.as_object().context("claims are an object")? {
        ensure!(payload[name] == *value, "{name}: {payload}");
    }
    Ok(())
}
