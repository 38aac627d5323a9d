//! Store `memory`: what is kept is gone with the process, and bounded while it runs.
//!
//! Tasks of exposed agents go when they have ended and are old, or the oldest of too many, or of too large ones; a
//! task that has not ended stays. Session logs go when theirs is the session that was written to longest ago.
//!
//! Tasks lie in shards by id: a write locks one of them, a listing one after the other. With few tasks there is one
//! shard, so that the bounds are exact; with many, each shard has its part of them.

mod memory;
mod sessions;
mod tasks;

pub use memory::MemoryStore;
