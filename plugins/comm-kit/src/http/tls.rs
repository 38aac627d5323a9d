//! Which certificates are trusted, and which one this side shows.

mod files;

use std::sync::Arc;

use mas_contracts::{BuildContext, Error, Result};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

use super::Settings;

/// The TLS of a client, with ring for its cryptography.
pub(super) fn config(settings: &Settings, cx: &BuildContext) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?;
    let builder = match verifier(settings, cx, provider)? {
        Some(verifier) => builder.dangerous().with_custom_certificate_verifier(verifier),
        None => builder.with_root_certificates(RootCertStore::empty()),
    };
    match files::own(settings, &cx.base)? {
        None => Ok(builder.with_no_client_auth()),
        Some(own) => builder.with_client_auth_cert(own.certificates, own.key).map_err(|error| {
            let (cert, key) = (own.cert_file.display(), own.key_file.display());
            files::unfit(format!(
                "the certificate `{cert}` (client_cert) and the key `{key}` (client_key) do not go together: {error}"
            ))
        }),
    }
}

/// What verifies servers; nothing where this machine trusts nobody, so that nobody can be.
fn verifier(
    settings: &Settings,
    cx: &BuildContext,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ServerCertVerifier>>> {
    if !settings.verify {
        tracing::warn!(
            "certificates of servers are NOT verified, as the settings want it: anybody may listen"
        );
        return Ok(Some(Arc::new(Unverified(provider))));
    }
    let trusted = files::trusted(settings, cx)?;
    // Root certificates that cannot be used are told by the first connection that needs one.
    match Verifier::new_with_extra_roots(trusted.clone(), provider) {
        Ok(verifier) => Ok(Some(Arc::new(verifier))),
        Err(error) if trusted.is_empty() => {
            tracing::debug!("this machine trusts no certificate authority, so no https is possible: {error}");
            Ok(None)
        }
        Err(error) => {
            let what = "a certificate of `ca_file`, SSL_CERT_FILE or SSL_CERT_DIR is of no use";
            Err(files::untrusted(format!("{what}: {error}")))
        }
    }
}

/// Takes any certificate.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
