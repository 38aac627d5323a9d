//! Where the files are, and what they are called.

use std::{
    fmt::Write,
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use mas_contracts::{BuildContext, Error, Result, SessionKey};
use sha2::{Digest, Sha256};

const READABLE: usize = 40;

/// The folder of the sessions.
pub(crate) fn folder(cx: &BuildContext, given: Option<&str>) -> Result<PathBuf> {
    if let Some(path) = given {
        return Ok(cx.base.join(path));
    }
    let state = match (cx.env.get("XDG_STATE_HOME"), cx.env.get("HOME")) {
        (Some(state), _) => PathBuf::from(state),
        (None, Some(home)) => Path::new(home).join(".local").join("state"),
        (None, None) => {
            return Err(Error::invalid(
                "the folder of the sessions is unknown: set `path`, XDG_STATE_HOME or HOME",
            )
            .with_code("mas::store::no_folder"));
        }
    };
    Ok(state.join("mas").join("sessions"))
}

/// The file name of a session: a readable part, and a hash of the whole key.
pub(crate) fn file_name(key: &SessionKey) -> String {
    let mut name = readable(&key.session);
    let mut hash = Sha256::new();
    for part in [key.owner.as_deref(), Some(&*key.agent), Some(&*key.session)] {
        // Lengths keep ("ab", "c") and ("a", "bc") apart, the flag an absent owner and an empty one.
        hash.update([u8::from(part.is_some())]);
        let part = part.unwrap_or_default();
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    name.push('-');
    for byte in hash.finalize().iter().take(16) {
        let _ = write!(name, "{byte:02x}");
    }
    name.push_str(".jsonl");
    name
}

/// How the file name of a session begins, and of every conversation below it.
pub(crate) fn readable(session: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    session.chars().take(READABLE).map(fits).collect()
}

/// Makes the folder, readable by its owner only.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a session's file for appending; makes it, readable by its owner only.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
