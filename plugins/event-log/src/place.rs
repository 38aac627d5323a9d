//! Where the file is.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use mas_contracts::{BuildContext, Error, ErrorKind, Result};

/// Opens the file of a run: the one given to append to, else a new one.
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
    Ok((file, path))
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
