//! Where the file is.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use mas_contracts::{BuildContext, Error, ErrorKind, Result};

/// How many files are kept in the state folder, that of the new run included.
const KEPT: usize = 1000;

/// Opens the file of a run: the one given to append to, else a new one, for which the oldest ones make room.
pub(crate) fn open(cx: &BuildContext, given: Option<&str>, run: &str) -> Result<(File, PathBuf)> {
    let path = match given {
        Some(path) => cx.base.join(path),
        None => runs(cx)?.join(format!("{run}.jsonl")),
    };
    let file = make(&path, given.is_none()).map_err(|error| {
        Error::new(ErrorKind::Unavailable, format!("the event log `{}` cannot be opened", path.display()))
            .with_code("mas::event_log::open")
            .caused_by(error)
    })?;
    if let (None, Some(folder)) = (given, path.parent()) {
        prune(folder);
    }
    Ok((file, path))
}

/// Removes the oldest files of runs above [`KEPT`]; what else lies in the folder is nobody's to remove. Run ids begin
/// with their time, so the order of names is that of runs. Logs are for people to look back: one that cannot be
/// removed is no reason not to run.
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let file = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file()).then(|| entry.path());
    let mut runs: Vec<PathBuf> =
        entries.flatten().filter_map(file).filter(|path| is_of_a_run(path)).collect();
    let Some(surplus) = runs.len().checked_sub(KEPT).filter(|surplus| *surplus > 0) else { return };
    runs.sort_unstable();
    for path in runs.into_iter().take(surplus) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!("the old event log `{}` stays: {error}", path.display());
        }
    }
}

/// Whether a file has the name that is made here: a UUID, and `.jsonl`.
fn is_of_a_run(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(id) = name.and_then(|name| name.strip_suffix(".jsonl")) else { return false };
    let lengths = id.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn runs(cx: &BuildContext) -> Result<PathBuf> {
    let state = match (cx.env.get("XDG_STATE_HOME"), cx.env.get("HOME")) {
        (Some(state), _) => PathBuf::from(state),
        (None, Some(home)) => Path::new(home).join(".local").join("state"),
        (None, None) => {
            let message = "the folder of the event log is unknown: set `path`, XDG_STATE_HOME or HOME";
            return Err(Error::invalid(message).with_code("mas::event_log::no_folder"));
        }
    };
    Ok(state.join("mas").join("runs"))
}

fn make(path: &Path, fresh: bool) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true);
    if fresh {
        options.create_new(true);
    } else {
        options.create(true);
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
