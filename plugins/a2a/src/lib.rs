//! Agents served over A2A: v1.0 and v0.3, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! ```text
//!   JSON-RPC ─┐   decode    ┌───────────┐            ┌────────── turns of the host
//!   HTTP+JSON ┼───────────▶ │ Operations │ ◀────────▶ │ tasks ├─ events of each task ─▶ streams, webhooks
//!   gRPC ─────┘ ◀─────────  └───────────┘            └────────── store
//!                encode
//! ```
//!
//! Bindings know versions, paths and media types; the operations know tasks. Neither knows the other's business.

#[allow(dead_code, reason = "the bindings follow")]
mod auth;
#[allow(dead_code, reason = "the bindings follow")]
pub mod card;
pub mod client;
mod grpc;
#[allow(dead_code, unused_imports, reason = "the listener follows")]
mod http;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod jose;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod json;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod model;
#[allow(dead_code, reason = "the bindings follow")]
mod moment;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod params;
mod push;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod service;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod site;
mod url;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod v03;
#[allow(dead_code, unused_imports, reason = "the bindings follow")]
mod v1;
