//! Sessions: data, not tasks. An idle one costs memory only.
//!
//! A session runs one turn at a time, first come first served. A turn is admitted, waits for its grant, runs
//! against a snapshot of the history and commits once; dropping it anywhere on that way leaves the session
//! free and its history whole.

mod admission;
mod feed;
mod paused;
mod restore;
mod state;
mod table;
mod whole;

pub use admission::QueuedTurn;
pub(crate) use admission::{Admission, Admitted};
pub(crate) use feed::Feed;
pub(crate) use paused::{Paused, PausedOp, Waiting};
pub use state::Session;
pub(crate) use state::{Commit, TurnSlot};
pub(crate) use table::SessionTable;
pub(crate) use whole::close_calls;
