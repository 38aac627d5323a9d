//! The control folder: where live sessions are found.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, ErrorKind as Io, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use mas_contracts::{Env, Error, ErrorKind, Result};
use nix::{errno::Errno, sys::signal, unistd};
use sha2::{Digest, Sha256};

use crate::Entry;

/// How old a file may be whose session lives.
const TTL: Duration = Duration::from_secs(5);

/// The longest file that is read.
const LONGEST: u64 = 64 * 1024;

/// A folder that belongs to this user alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDirectory(PathBuf);

impl ControlDirectory {
    /// The folder: `given`, else `MAS_CONTROL_DIR`, else the first that can be used of those of the system. It is made
    /// if it is not there.
    ///
    /// # Errors
    /// A folder that was named, or the last resort, and is not this user's alone or cannot be made.
    pub fn open(given: Option<&Path>, env: &Env) -> Result<Self> {
        let user = unistd::geteuid();
        if let Some(named) =
            given.map(Path::to_owned).or_else(|| env.get("MAS_CONTROL_DIR").map(PathBuf::from))
        {
            return Self::own(named);
        }
        let runtime = env.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let bases = runtime.into_iter().chain([format!("/run/user/{user}").into(), "/var/run".into()]);
        for base in bases.filter(|base| base.is_dir()) {
            match Self::own(base.join("mas-ctl")) {
                Ok(folder) => return Ok(folder),
                Err(error) => {
                    tracing::debug!("the control folder below `{}` is not used: {error}", base.display());
                }
            }
        }
        let temporary = env.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        Self::own(temporary.join(format!("mas-ctl-{user}")))
    }

    fn own(path: PathBuf) -> Result<Self> {
        let cannot = |problem: &dyn std::fmt::Display| {
            Error::new(
                ErrorKind::Denied,
                format!("the control folder `{}` is not used: {problem}", path.display()),
            )
            .with_code("mas::control::folder")
        };
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|error| cannot(&error))?;
        }
        // Of the name itself: a link that somebody planted leads anywhere.
        let found = fs::symlink_metadata(&path).map_err(|error| cannot(&error))?;
        if !found.is_dir() {
            return Err(cannot(&"it is no folder"));
        }
        if found.uid() != unistd::geteuid().as_raw() {
            return Err(cannot(&"it belongs to another user"));
        }
        if found.mode() & 0o077 != 0 {
            return Err(cannot(&"others may use it; its mode has to be 0700"));
        }
        Ok(Self(path))
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes what is said of a session, whole or not at all.
    ///
    /// # Errors
    /// A disk that does not take it.
    pub(crate) fn write(&self, entry: &Entry) -> io::Result<()> {
        let path = self.file(&entry.session_id);
        let draft = path.with_extension(format!("{}.new", entry.pid));
        let text = serde_json::to_vec_pretty(entry)?;
        let written = || -> io::Result<()> {
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != Io::NotFound => return Err(error),
                _ => {}
            }
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?.write_all(&text)?;
            fs::rename(&draft, &path)
        };
        written().inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    /// Takes away what is said of a session, if it is still this process that says it.
    pub(crate) fn withdraw(&self, entry: &Entry) {
        let path = self.file(&entry.session_id);
        if read(&path).is_some_and(|found| found.pid == entry.pid && found.rpc == entry.rpc) {
            drop(fs::remove_file(path));
        }
    }

    /// The sessions that live, in order of their ids; what is said of dead ones is removed. `now` is Unix time.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn live(&self, now: Duration) -> Result<Vec<Entry>> {
        let cannot = |error: io::Error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("the control folder `{}` cannot be read", self.0.display()),
            )
            .with_code("mas::control::folder")
            .caused_by(error)
        };
        let mut live = Vec::new();
        for found in fs::read_dir(&self.0).map_err(cannot)?.flatten() {
            let path = found.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let Some(entry) = read(&path) else { continue };
            if lives(&entry, now) {
                live.push(entry);
            } else {
                drop(fs::remove_file(&path));
                if let (false, Some(socket)) = (alive(entry.pid), entry.socket()) {
                    // Only what lies here is ours to remove.
                    if socket.parent() == Some(&self.0) {
                        drop(fs::remove_file(socket));
                    }
                }
            }
        }
        live.sort_by(|one, other| one.session_id.cmp(&other.session_id));
        Ok(live)
    }

    /// What is said of one session, if it lives.
    pub(crate) fn find(&self, session: &str, now: Duration) -> Option<Entry> {
        read(&self.file(session)).filter(|entry| lives(entry, now))
    }

    fn file(&self, session: &str) -> PathBuf {
        self.0.join(format!("{}.json", file_name(session)))
    }
}

/// A session as a file name: itself if it is plain, else what it hashes to.
fn file_name(session: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !session.is_empty() && session.len() <= 100 && session.bytes().all(plain) {
        return session.to_owned();
    }
    let hash = Sha256::digest(session);
    hash.iter().take(16).fold("x.".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

fn read(path: &Path) -> Option<Entry> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > LONGEST {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn lives(entry: &Entry, now: Duration) -> bool {
    now.saturating_sub(Duration::from_secs_f64(entry.heartbeat_at.clamp(0.0, 1e12))) <= TTL
        && alive(entry.pid)
}

/// Whether a process is there. One that may not be asked is another user's, and so none of ours.
fn alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 0) else { return false };
    !matches!(signal::kill(unistd::Pid::from_raw(pid), None), Err(Errno::ESRCH | Errno::EPERM))
}
