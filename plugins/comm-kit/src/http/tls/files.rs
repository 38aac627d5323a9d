//! Certificates and keys out of files.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use mas_contracts::{BuildContext, Error, Result};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};

use crate::http::Settings;

/// A larger file of certificates is refused.
const LIMIT: u64 = 8 * 1024 * 1024;

/// The most files of a folder of certificates that are read.
const MOST_FILES: usize = 4096;

/// What is trusted beside what the machine trusts.
pub(super) fn trusted(settings: &Settings, cx: &BuildContext) -> Result<Vec<CertificateDer<'static>>> {
    let mut trusted = Vec::new();
    if let Some(file) = &settings.ca_file {
        trusted.extend(authorities("ca_file", &cx.base.join(file))?);
    }
    if let Some(file) = cx.env.get("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
        trusted.extend(authorities("SSL_CERT_FILE", &cx.base.join(file))?);
    }
    if let Some(folders) = cx.env.get("SSL_CERT_DIR").filter(|folders| !folders.is_empty()) {
        for folder in std::env::split_paths(folders) {
            trusted.extend(folder_of("SSL_CERT_DIR", &cx.base.join(folder))?);
        }
    }
    Ok(trusted)
}

/// The certificate of this side with its key, and where they came from.
pub(super) struct Own {
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) cert_file: PathBuf,
    pub(super) key_file: PathBuf,
}

/// What this side shows of itself, if anything.
pub(super) fn own(settings: &Settings, base: &Path) -> Result<Option<Own>> {
    let (cert, key) = match (&settings.client_cert, &settings.client_key) {
        (None, None) => return Ok(None),
        (Some(cert), Some(key)) => (cert, key),
        (Some(_), None) => {
            return Err(unfit("`client_cert` needs `client_key`, the file of its key".to_owned()));
        }
        (None, Some(_)) => return Err(unfit("`client_key` needs `client_cert`, its certificate".to_owned())),
    };
    let (cert_file, key_file) = (base.join(cert), base.join(key));
    let bytes = read(&cert_file).map_err(|error| {
        unfit(format!("the file `{}` (client_cert) cannot be read: {error}", cert_file.display()))
    })?;
    let certificates = certificates(&bytes)
        .map_err(|why| unfit(format!("the file `{}` (client_cert) {why}", cert_file.display())))?;
    let shown = key_file.display();
    let bytes = read(&key_file)
        .map_err(|error| unfit(format!("the file `{shown}` (client_key) cannot be read: {error}")))?;
    // What the library says of a damaged file may quote it.
    let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
        pem::Error::NoItemsFound if bytes.windows(9).any(|word| word == b"ENCRYPTED") => unfit(format!(
            "the key in `{shown}` (client_key) is encrypted; write it without a password: openssl pkey -in KEY -out PLAIN"
        )),
        pem::Error::NoItemsFound => {
            unfit(format!("the file `{shown}` (client_key) holds no private key in PEM form"))
        }
        _ => unfit(format!("the file `{shown}` (client_key) is damaged")),
    })?;
    Ok(Some(Own { certificates, key, cert_file, key_file }))
}

/// That a certificate of an authority is of no use.
pub(super) fn untrusted(message: String) -> Error {
    Error::invalid(message).with_code("mas::http::ca_file")
}

/// That the certificate of this side is of no use.
pub(super) fn unfit(message: String) -> Error {
    Error::invalid(message).with_code("mas::http::client_cert")
}

fn authorities(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let shown = file.display();
    let bytes = read(file).map_err(|error| {
        untrusted(format!("the file of certificates `{shown}` ({name}) cannot be read: {error}"))
    })?;
    certificates(&bytes).map_err(|why| untrusted(format!("the file `{shown}` ({name}) {why}")))
}

/// The certificates of the files of a folder, as OpenSSL has it: files that hold none are passed over.
fn folder_of(name: &str, folder: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|error| {
        untrusted(format!("the folder of certificates `{shown}` ({name}) cannot be read: {error}"))
    })?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    if files.len() > MOST_FILES {
        let what = format!("the folder `{shown}` ({name}) holds more than {MOST_FILES} files");
        return Err(untrusted(what));
    }
    files.sort();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is_file()) {
        match read(file).map(|bytes| certificates(&bytes)) {
            Ok(Ok(some)) => found.extend(some),
            Ok(Err(why)) => tracing::debug!("the file `{}` ({name}) {why}", file.display()),
            Err(error) => tracing::debug!("the file `{}` ({name}) cannot be read: {error}", file.display()),
        }
    }
    Ok(found)
}

fn certificates(bytes: &[u8]) -> std::result::Result<Vec<CertificateDer<'static>>, &'static str> {
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    let found = found.map_err(|_| "is damaged: what stands in it is no PEM")?;
    if found.is_empty() { Err("holds no certificate in PEM form") } else { Ok(found) }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(file)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read <= LIMIT) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 8 MiB"))
}
