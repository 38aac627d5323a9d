//! gRPC, of both versions on one port (A2A v1.0, section 10).
//!
//! | service | what |
//! |---|---|
//! | `lf.a2a.v1.A2AService` | v1.0; the tenant of a request tells several agents apart, without one it is for the entry agent |
//! | `a2a.v1.A2AService` | v0.3, which knows no tenants: the entry agent |
//! | `grpc.health.v1.Health` | `Check`: serving until the end begins |
//!
//! The package names the version, so `a2a-version` may be absent; one that says another version is refused. A body
//! is bounded in size and time like one of HTTP; `grpc-timeout` ends a call, and a caller that goes ends its stream.

pub(crate) mod codec;
pub(crate) mod deadline;
mod failures;
pub(crate) mod fields;
pub(crate) mod proto;
mod service;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod v03;
pub(crate) mod v1;
mod values;

pub(crate) use service::{Agents, answer};
