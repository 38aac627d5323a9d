//! Access that lapses, such as an address with a token for some minutes: kept as long as it holds, asked for once.
//!
//! ```text
//!   get(key) ── kept and good ──▶ the same value
//!       └────── not ──▶ one lookup for all that ask now ──▶ kept until its expiry less the skew
//!   drop_value(key, value): refused by whoever it was for; a newer one stays
//! ```
//!
//! [`AccessCache`] is within the process, [`AccessFile`] between runs of a program.

mod cache;
mod expiry;
mod file;
mod private;

pub use cache::{AccessCache, Lookup};
pub use expiry::Expiry;
pub use file::{AccessFile, Entry};
