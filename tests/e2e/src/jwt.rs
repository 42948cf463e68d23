//! An issuer of tokens whose key exists for one test, and the key set by which `jwt_authn` verifies them.

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PublicKeyData};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Signs tokens (ES256) in the name of an issuer.
pub struct Issuer {
    name: String,
    key: EncodingKey,
    point: Vec<u8>,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Issuer {
    /// An issuer with a new key; `name` becomes the `iss` of its tokens.
    ///
    /// # Errors
    ///
    /// No key could be made.
    pub fn new(name: &str) -> Result<Self> {
        let pair = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        Ok(Self {
            name: name.to_owned(),
            key: EncodingKey::from_ec_der(pair.serialized_der()),
            point: pair.der_bytes().to_vec(),
        })
    }

    /// The `iss` of its tokens.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A signed token with these claims; `iss` and an `exp` one hour ahead are added where they are absent.
    ///
    /// # Errors
    ///
    /// The claims are no object.
    pub fn token(&self, mut claims: Value) -> Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let object = claims.as_object_mut().context("claims are an object")?;
        object.entry("iss").or_insert_with(|| json!(self.name));
        object.entry("exp").or_insert_with(|| json!(now + 3600));
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.name.clone());
        Ok(jsonwebtoken::encode(&header, &claims, &self.key)?)
    }

    /// Its JSON Web Key Set.
    #[must_use]
    pub fn jwks(&self) -> Value {
        // An uncompressed point: 0x04, then x and y of 32 bytes each.
        let (x, y) = (&self.point[1..33], &self.point[33..65]);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.name,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }]})
    }
}
