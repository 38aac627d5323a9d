//! Tools: the providers of the category `tool_provider`. Linking this crate registers them.
//!
//! | kind | a tool is |
//! |---|---|
//! | `native` | inside the program: `calc`, `lookup` |
//! | `command` | a program, run once per call; on Unix |

#[cfg(unix)]
mod command;
mod declared;
mod native;
#[cfg(unix)]
mod secrets;
mod text;

pub use native::{Calc, Lookup, evaluate};
