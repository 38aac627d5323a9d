//! Tools: the providers of the category `tool_provider`. Linking this crate registers them.
//!
//! | kind | a tool is |
//! |---|---|
//! | `native` | inside the program: `calc`, `lookup` |
//! | `command` | a program, run once per call; on Unix |
//! | `http` | a declared request |
//! | `python` | a class in Python, in a process of its module tree; on Unix |

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod command;
mod declared;
mod http;
mod native;
#[cfg(unix)]
mod path;
#[cfg(unix)]
mod python;
mod secrets;
mod text;

pub use native::{Calc, Lookup, evaluate};
