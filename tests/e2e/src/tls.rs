//! A certificate authority that exists for one test, what it signs, and clients that believe it.

use std::sync::Arc;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// An authority with a new key.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    ///
    /// No key could be made.
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "e2e authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
        })
    }

    /// Its own certificate.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a server at 127.0.0.1 and `localhost`.
    ///
    /// # Errors
    ///
    /// No key could be made.
    pub fn server(&self) -> Result<Identity> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names)?;
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate for a client that is known by these URIs, such as `spiffe://e2e/orders`.
    ///
    /// # Errors
    ///
    /// A URI is not ASCII.
    pub fn client(&self, uris: &[&str]) -> Result<Identity> {
        let mut params = CertificateParams::default();
        for uri in uris {
            params
                .subject_alt_names
                .push(SanType::URI((*uri).try_into()?));
        }
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity { certificate, key })
    }
}

impl Identity {
    /// The certificate.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Its private key.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }
}

/// A client that trusts `authority` and shows `identity`.
pub(crate) fn client_config(
    authority: &Authority,
    identity: Option<&Identity>,
) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.issuer.der().clone())?;
    let config = builder().with_root_certificates(roots);
    Ok(match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let chain: Vec<CertificateDer<'static>> = vec![identity.certificate.der().clone()];
            let key = PrivateKeyDer::try_from(identity.key.serialize_der())
                .map_err(anyhow::Error::msg)?;
            config.with_client_auth_cert(chain, key)?
        }
    })
}

/// A client that trusts nobody.
pub(crate) fn client_config_without_trust() -> ClientConfig {
    builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

#[allow(
    clippy::expect_used,
    reason = "the provider supports its own default versions"
)]
fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
}
