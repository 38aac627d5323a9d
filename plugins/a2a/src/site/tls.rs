//! TLS from files.

use std::{path::Path, sync::Arc};

use mas_contracts::{Error, Result};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio_rustls::TlsAcceptor;

use crate::params::Tls;

/// Reads certificate and key; `base` is the folder that their paths start from.
///
/// # Errors
/// Which file cannot be read, holds nothing of its kind, or does not go with the other.
pub(crate) fn acceptor(files: &Tls, base: &Path) -> Result<TlsAcceptor> {
    let (cert, key) = (base.join(&files.cert), base.join(&files.key));
    let certificates = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| unreadable("certificate", &cert, &error))?;
    if certificates.is_empty() {
        return Err(invalid(format!("`{}` holds no certificate in PEM", cert.display())));
    }
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unreadable("key", &key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private));
    let mut config = config.map_err(|error| {
        let (cert, key) = (cert.display(), key.display());
        invalid(format!("the certificate `{cert}` and the key `{key}` make no TLS server: {error}"))
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    invalid(format!("the {what} `{}` cannot be read: {error}", path.display()))
}

fn invalid(message: String) -> Error {
    Error::invalid(message).with_code("mas::a2a::tls")
}
