//! One session's file: append and load, blocking.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
};

use mas_contracts::{Error, ErrorKind, Idempotency, Record, Result, SessionKey};
use serde::{Deserialize, Serialize};

use crate::place;

const FORMAT: &str = "mas-session/1";
/// A larger file is refused.
const LIMIT: u64 = 256 * 1024 * 1024;
/// A longer first line is no header.
const HEADER: u64 = 64 * 1024;
/// How much is read at once while the last newline is looked for.
const CHUNK: u64 = 64 * 1024;

#[derive(Serialize)]
struct HeaderOut<'a> {
    format: &'a str,
    session: &'a SessionKey,
}

#[derive(Deserialize)]
struct Header {
    format: String,
    session: SessionKey,
}

/// What one try gave.
pub(crate) enum Tried<T> {
    Done(T),
    /// Another holder has the lock.
    Locked,
}

/// An append, made ready.
pub(crate) struct Batch {
    line: Vec<u8>,
    header: Vec<u8>,
    sync: bool,
}

impl Batch {
    pub(crate) fn new(key: &SessionKey, records: &[Record]) -> Result<Self> {
        let sync = records.iter().any(|record| match record {
            Record::Ended { .. } => true,
            Record::Started { idempotency, .. } => *idempotency != Idempotency::Rerun,
            Record::Turn { .. } | Record::Done { .. } => false,
        });
        Ok(Self { line: line(&records)?, header: line(&HeaderOut { format: FORMAT, session: key })?, sync })
    }
}

fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)
        .map_err(|error| Error::internal("a record cannot be written as JSON").caused_by(error))?;
    line.push(b'\n');
    Ok(line)
}

/// Appends once, if the lock is free.
pub(crate) fn append(folder: &Path, path: &Path, batch: &Batch) -> Result<Tried<()>> {
    let failed = |error: io::Error| failure(path, "written", &error);
    place::make_folder(folder).map_err(failed)?;
    let mut file = place::open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Tried::Locked),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let found = file.metadata().map_err(failed)?.len();
    let whole = whole_length(&mut file, found).map_err(failed)?;
    if whole < found {
        file.set_len(whole).map_err(failed)?;
    }
    let mut bytes = if whole == 0 { batch.header.clone() } else { Vec::new() };
    bytes.extend_from_slice(&batch.line);
    if let Err(error) =
        file.write_all(&bytes).and_then(|()| if batch.sync { file.sync_data() } else { Ok(()) })
    {
        // Half an append must not stay; if it does, it is a torn line.
        let _ = file.set_len(whole);
        return Err(failed(error));
    }
    if whole == 0 && batch.sync {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(Tried::Done(()))
}

/// Removes the files of a session and of the conversations below it, if nobody writes one.
pub(crate) fn forget(folder: &Path, key: &SessionKey) -> Result<Tried<()>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tried::Done(())),
        Err(error) => return Err(failure(folder, "read", &error)),
    };
    let begin = place::readable(&key.session);
    for entry in entries {
        let path = entry.map_err(|error| failure(folder, "read", &error))?.path();
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin));
        if !named || path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let failed = |error: io::Error| failure(&path, "removed", &error);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Tried::Locked),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut first = Vec::new();
        let mut reader = BufReader::new(&file).take(HEADER);
        reader.read_until(b'\n', &mut first).map_err(failed)?;
        // A file that says nothing of whose it is, is ours only by its name.
        let ours = match serde_json::from_slice::<Header>(&first) {
            Ok(header) => key.covers(&header.session),
            Err(_) => path.file_name().is_some_and(|name| *name == *place::file_name(key)),
        };
        if ours {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(Tried::Done(()))
}

/// The length up to and with the last newline.
fn whole_length(file: &mut File, len: u64) -> io::Result<u64> {
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        Read::by_ref(file).take(end.saturating_sub(start)).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start.saturating_add(u64::try_from(at).unwrap_or(u64::MAX)).saturating_add(1));
        }
        end = start;
    }
    Ok(0)
}

/// Loads once, if no one writes.
pub(crate) fn load(path: &Path, key: &SessionKey) -> Result<Tried<Vec<Record>>> {
    let failed = |error: io::Error| failure(path, "read", &error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tried::Done(Vec::new())),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Tried::Locked),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    file.take(LIMIT.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIMIT {
        let message = format!("the session file `{}` is larger than {LIMIT} bytes", path.display());
        return Err(Error::new(ErrorKind::Limit, message).with_code("mas::store::too_large"));
    }
    parse(path, key, &bytes).map(Tried::Done)
}

fn parse(path: &Path, key: &SessionKey, bytes: &[u8]) -> Result<Vec<Record>> {
    let corrupt = |number: usize, cause: String| {
        Error::new(
            ErrorKind::Failed,
            format!("line {number} of the session file `{}` cannot be read", path.display()),
        )
        .with_code("mas::store::corrupt")
        .caused_by(cause)
    };
    let mut records = Vec::new();
    // What stands after the last newline is torn.
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for (at, line) in lines.enumerate() {
        let number = at.saturating_add(1);
        if at == 0 {
            let header: Header =
                serde_json::from_slice(line).map_err(|error| corrupt(number, error.to_string()))?;
            if header.format != FORMAT {
                return Err(corrupt(number, format!("the format is `{}`, not `{FORMAT}`", header.format)));
            }
            if header.session != *key {
                return Err(corrupt(number, "it belongs to another session".to_owned()));
            }
            continue;
        }
        let batch: Vec<Record> =
            serde_json::from_slice(line).map_err(|error| corrupt(number, error.to_string()))?;
        records.extend(batch);
    }
    Ok(records)
}

fn failure(path: &Path, done: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the session file `{}` cannot be {done}", path.display()))
        .with_code("mas::store::io")
        .caused_by(error)
}
