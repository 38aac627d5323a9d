//! Access between runs of a program.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mas_contracts::{Clock, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::private;

/// The code of every error of the file.
const CODE: &str = "mas::access::file";
/// A larger file holds nothing that is of use.
const LARGEST: u64 = 4 * 1024 * 1024;
/// More entries than this are not kept; the oldest go first.
const MOST: usize = 1000;
/// How long another program may hold the file.
const HELD: Duration = Duration::from_secs(2);
/// How often it is looked whether it still does.
const LOOK: Duration = Duration::from_millis(10);

/// What the file keeps under a key. Debug does not show the value.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was kept, in seconds since the Unix epoch.
    pub cached_at: u64,
    /// When it is of no use any more, in seconds since the Unix epoch; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What is kept.
    pub value: Value,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Entry");
        shown
            .field("cached_at", &self.cached_at)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// A file of entries by key, which only its owner may read, in a folder of which the same is true.
///
/// Every change is made under a lock and replaces the file as a whole. A file that others may read or write counts as
/// empty, with a warning, and the next change replaces it; so do entries that are not as they should be or are over.
#[derive(Clone)]
pub struct AccessFile {
    path: Arc<Path>,
    clock: Arc<dyn Clock>,
}

impl AccessFile {
    /// The file at `path`; it and its folder are made by the first change.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self { path: path.into().into(), clock }
    }

    /// The value under `key`, unless it is over.
    ///
    /// # Errors
    /// `mas::access::file` when the file cannot be read.
    pub fn get(&self, key: &str) -> Result<Option<Value>> {
        let mut entries = read(&self.path, self.now()).map_err(|error| self.failed("read", &error))?;
        Ok(entries.remove(key).map(|entry| entry.value))
    }

    /// Keeps `value` under `key`, until `expires`: a time since the Unix epoch.
    ///
    /// # Errors
    /// `mas::access::file` when the file cannot be written, or another program holds it for more than 2 seconds.
    pub async fn put(&self, key: &str, value: Value, expires: Option<Duration>) -> Result<()> {
        let entry = Entry { cached_at: self.now(), expires_at: expires.map(|at| at.as_secs()), value };
        self.change(|entries| {
            entries.insert(key.to_owned(), entry);
            true
        })
        .await
    }

    /// Forgets what is under `key` where `is` says so of it.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn drop_value(&self, key: &str, is: impl FnOnce(&Value) -> bool + Send) -> Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        self.change(|entries| {
            let drops = entries.get(key).is_some_and(|entry| is(&entry.value));
            drops && entries.remove(key).is_some()
        })
        .await
    }

    fn now(&self) -> u64 {
        self.clock.unix_time().as_secs()
    }

    async fn change(&self, change: impl FnOnce(&mut Entries) -> bool + Send) -> Result<()> {
        let _held = self.hold().await?;
        let now = self.now();
        let changed = (|| {
            let mut entries = read(&self.path, now)?;
            if !change(&mut entries) {
                return Ok(());
            }
            while entries.len() > MOST {
                let oldest = entries.iter().min_by_key(|(_, entry)| entry.cached_at);
                let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
                entries.remove(&key);
            }
            replace(&self.path, &entries)
        })();
        changed.map_err(|error| self.failed("written", &error))
    }

    /// Waits for the file. The lock is that of a file beside it, for the file itself is replaced.
    async fn hold(&self) -> Result<File> {
        let failed = |error: io::Error| self.failed("written", &error);
        let lock = (|| {
            private::folder(folder(&self.path))?;
            private::lock_file(&beside(&self.path, ".lock"))
        })();
        let lock = lock.map_err(failed)?;
        let end = self.clock.now().checked_add(HELD);
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => {
                    let now = self.clock.now();
                    if end.is_none_or(|end| now >= end) {
                        return Err(failed(io::Error::other("another program holds it")));
                    }
                    self.clock.sleep_until(now.checked_add(LOOK).unwrap_or(now)).await;
                }
            }
        }
    }

    fn failed(&self, done: &str, error: &io::Error) -> Error {
        let what = format!("the file `{}` of cached access cannot be {done}: {error}", self.path.display());
        Error::new(ErrorKind::Unavailable, what).with_code(CODE)
    }
}

impl fmt::Debug for AccessFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccessFile").field(&self.path).finish()
    }
}

type Entries = std::collections::BTreeMap<String, Entry>;

/// The entries that are of use.
fn read(path: &Path, now: u64) -> io::Result<Entries> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::new()),
        found => found?,
    };
    if !metadata.is_file() || private::is_open(&metadata) {
        tracing::warn!(
            "the file `{}` of cached access is not its owner's alone, so nothing of it is used",
            path.display()
        );
        return Ok(Entries::new());
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut text)?;
    let Ok(Value::Object(entries)) = serde_json::from_slice(&text) else { return Ok(Entries::new()) };
    let entries = entries.into_iter().filter_map(|(key, entry)| Some((key, Entry::deserialize(entry).ok()?)));
    Ok(entries.filter(|(_, entry)| entry.expires_at.is_none_or(|at| at > now)).collect())
}

/// Puts the entries in the place of the file, all of them or none.
fn replace(path: &Path, entries: &Entries) -> io::Result<()> {
    let mut map = Map::new();
    for (key, entry) in entries {
        map.insert(key.clone(), serde_json::to_value(entry)?);
    }
    let text = serde_json::to_vec(&map)?;
    let (mut file, fresh) = begin(path)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    #[cfg(unix)]
    File::open(folder(path))?.sync_all()?;
    Ok(())
}

/// The file that is to take the place of another, without a byte in it yet, and where it is.
fn begin(path: &Path) -> io::Result<(File, PathBuf)> {
    let fresh = beside(path, ".new");
    // One that a run left behind when it was killed; the lock says that nobody writes it.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok((private::create(&fresh)?, fresh))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_and_its_folders_are_their_owners_alone_before_their_first_byte() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state/mas/access.json");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        private::folder(folder(&path)).unwrap();
        for made in ["state", "state/mas"] {
            assert_eq!(mode(&place.path().join(made)), 0o700, "{made}");
        }
        // One that a run left behind, and that others may read, is not written into.
        let left = beside(&path, ".new");
        fs::write(&left, "left").unwrap();
        fs::set_permissions(&left, fs::Permissions::from_mode(0o644)).unwrap();
        let (file, fresh) = begin(&path).unwrap();
        assert_eq!((fresh.clone(), file.metadata().unwrap().len(), mode(&fresh)), (left, 0, 0o600));
        private::lock_file(&beside(&path, ".lock")).unwrap();
        assert_eq!(mode(&beside(&path, ".lock")), 0o600);
    }
}
