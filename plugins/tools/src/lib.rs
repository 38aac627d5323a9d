//! Tools: the providers of the category `tool_provider`. Linking this crate registers them.
//!
//! | kind | a tool is |
//! |---|---|
//! | `native` | inside the program: `calc`, `lookup` |

mod declared;
mod native;

pub use native::{Calc, Lookup, evaluate};
