//! Which certificates are trusted.

use std::{io::Read, path::Path, sync::Arc};

use mas_contracts::{BuildContext, Error, Result};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use rustls_platform_verifier::Verifier;

use super::Settings;

/// A larger file of certificates is refused.
const LIMIT: u64 = 8 * 1024 * 1024;

/// The TLS of a client, with ring for its cryptography.
pub(super) fn config(settings: &Settings, cx: &BuildContext) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?;
    if !settings.verify {
        tracing::warn!(
            "certificates of servers are NOT verified, as the settings want it: anybody may listen"
        );
        let verifier = Arc::new(Unverified(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
    }
    let mut trusted = Vec::new();
    if let Some(file) = &settings.ca_file {
        trusted.extend(read("ca_file", &cx.base.join(file))?);
    }
    if let Some(file) = cx.env.get("SSL_CERT_FILE") {
        trusted.extend(read("SSL_CERT_FILE", &cx.base.join(file))?);
    }
    // Root certificates that cannot be used are told by the first connection that needs one.
    match Verifier::new_with_extra_roots(trusted.clone(), provider) {
        Ok(verifier) => {
            let verifier = Arc::new(verifier);
            Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
        }
        Err(error) if trusted.is_empty() => {
            tracing::debug!("this machine trusts no certificate authority, so no https is possible: {error}");
            Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
        }
        Err(error) => {
            Err(invalid(format!("a certificate of `ca_file` or SSL_CERT_FILE is of no use: {error}")))
        }
    }
}

fn read(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let shown = file.display();
    let mut bytes = Vec::new();
    std::fs::File::open(file).and_then(|opened| opened.take(LIMIT).read_to_end(&mut bytes)).map_err(
        |error| invalid(format!("the file of certificates `{shown}` ({name}) cannot be read: {error}")),
    )?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| {
        invalid(format!("the file of certificates `{shown}` ({name}) is damaged: {error}"))
    })?;
    if found.is_empty() {
        return Err(invalid(format!("the file `{shown}` ({name}) holds no certificate in PEM form")));
    }
    Ok(found)
}

fn invalid(message: String) -> Error {
    Error::invalid(message).with_code("mas::http::ca_file")
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
