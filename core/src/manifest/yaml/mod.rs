//! YAML read once into a tree that knows where every key and value stands.
//!
//! The core schema of YAML 1.2 decides types, but every scalar keeps its source text, so that a field that wants a
//! string gets `1.10` and not `1.1`. Merge keys are applied here; duplicate keys, unknown tags, alias bombs and deep
//! nesting are refused here.

mod encoding;
mod node;
mod parse;
mod scalar;

pub use encoding::{MAX_FILE_BYTES, decode_text};
pub use node::{Entry, Map, Node, Style, Value};
pub use parse::parse;
pub(crate) use scalar::{parse_float, parse_int};
