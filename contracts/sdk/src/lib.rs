//! For plugins built apart: an author writes what a built-in is, and one line more.
//!
//! ```text
//!   host                               library
//!   entry symbol  ──────────────────▶  abi, size, name, version, functions      nothing has run yet
//!   init(host)    ──────────────────▶  a runtime of its own
//!   start(call, request)  ──────────▶  Describe, Check, Build, Comm, Release    returns at once
//!                 ◀── frame(call, EVENT, …) … ── END (the reply) or FAIL (the error), exactly one
//!   cancel(call, reason)  ──────────▶
//! ```
//!
//! ```text
//! inventory::submit! { descriptor() }   // as a built-in does
//! mas_plugin_sdk::export_plugin!();
//! ```
//!
//! One crate is an `rlib` and a `cdylib` at once. Everything that was submitted to `inventory` in the library is offered.
//! In this version that works for the category `agent_comm`; a description names no others, and
//! this is the library's half: no program loads one yet.
//!
//! What differs from a built-in: [`BuildContext::host`](mas_contracts::BuildContext) leads to no agents, the counters of
//! the tree are those of the call alone, and ids and time are the library's own. [`protocol`] has the messages, which do
//! not depend on how they travel; [`abi`] has the structs and functions that carry them in one process.

pub mod abi;
mod guest;
pub mod protocol;

pub use mas_contracts::{Descriptor, inventory};

/// Who a library is; [`export_plugin!`] submits it.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The name of the crate.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

inventory::collect!(Identity);

/// Lets a program load the crate as a library; nothing else is needed. Linked into a program it does nothing.
#[macro_export]
macro_rules! export_plugin {
    () => {
        $crate::inventory::submit! {
            $crate::Identity { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") }
        }
    };
}
