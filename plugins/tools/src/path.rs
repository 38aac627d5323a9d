//! Where programs are.

use std::{
    fs::Metadata,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use mas_contracts::Env;

/// The program of this name on the `PATH` of the snapshot. Relative folders of it are passed over: they would mean
/// another program in every folder that mas is started in.
pub(crate) fn on_path(env: &Env, name: &str) -> Option<PathBuf> {
    std::env::split_paths(env.get("PATH").unwrap_or_default())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

/// Whether there is a program at `path`.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| is_executable(&metadata))
}

/// Whether it is a file that may be run.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}
