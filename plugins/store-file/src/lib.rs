//! Session store `file`: one append-only JSON Lines file per session.
//!
//! The first line of a file names its session: `{"format":"mas-session/1","session":{…}}`. Every further line is
//! the JSON array of the records of one append, so that an append is there whole or not at all.
//!
//! The folder is `path`, else `$XDG_STATE_HOME/mas/sessions`, else `$HOME/.local/state/mas/sessions`; it is made
//! with mode 0700, files with 0600. A file's name is the readable part of the session id and a hash of the whole
//! key: an id never leaves the folder, and two keys never share a file.
//!
//! - An append is one write, under a lock of the file that other processes honour; a lock held elsewhere is
//!   waited for 10 seconds. It is synced to the disk when it holds the end of a turn, or the start of an
//!   operation that may not run twice.
//! - After a crash the last line may be torn: it has no newline. [`load`](mas_contracts::StoreContract::load)
//!   leaves it out, and the next append cuts it off first. Any other line that cannot be read is an error that
//!   names the line.

mod log;
mod place;
mod store;

pub use store::FileStore;
