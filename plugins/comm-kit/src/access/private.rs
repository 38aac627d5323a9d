//! Files that only their owner may read, from their first byte on.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    path::Path,
};

/// Makes a folder, and those above it, for its owner only. One that is there must be so already.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    if is_open(&path.metadata()?) {
        return Err(io::Error::other("others than its owner may look into the folder; `chmod 700` it"));
    }
    Ok(())
}

/// A new file that nobody else may read; one that is there already is an error.
pub(super) fn create(path: &Path) -> io::Result<File> {
    owned(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// The file of a lock, which is made if it is not there.
pub(super) fn lock_file(path: &Path) -> io::Result<File> {
    owned(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

fn owned(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Whether others than the owner may do anything with it.
#[cfg(unix)]
pub(super) fn is_open(metadata: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

/// Whether others than the owner may do anything with it: not known here.
#[cfg(not(unix))]
pub(super) fn is_open(_metadata: &Metadata) -> bool {
    false
}
