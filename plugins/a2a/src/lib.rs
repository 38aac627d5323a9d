//! Agents served and called over A2A: v1.0 and v0.3, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! ```text
//!   JSON-RPC ─┐   decode    ┌───────────┐            ┌────────── turns of the host
//!   HTTP+JSON ┼───────────▶ │ Operations │ ◀────────▶ │ tasks ├─ events of each task ─▶ streams, webhooks
//!   gRPC ─────┘ ◀─────────  └───────────┘            └────────── store
//!                encode
//! ```
//!
//! The other way round, `agent_comm: a2a` calls agents elsewhere: a turn of `comm-kit` over the [`client`], by the card
//! of the agent.
//!
//! Bindings know versions, paths and media types; the operations know tasks. Neither knows the other's business.

mod auth;
pub mod card;
pub mod client;
mod comm;
mod grpc;
mod http;
mod identity;
mod jose;
mod json;
mod model;
mod moment;
mod params;
mod push;
mod service;
mod site;
mod url;
mod v03;
mod v1;
