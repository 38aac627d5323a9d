//! Exposures: who listens where.
//!
//! ```text
//! what `serve` is asked for ── ask ──▶ rows of endpoints, made where none are declared
//! Wiring ── ExposurePlan::of ──▶ endpoints grouped by the sockets they claim      nothing bound yet
//!               │ neighbours     agents that another process serves already: peers
//!               └ bind ──▶ Exposed   every socket listens
//!                             └ close    drained within a limit
//! ```
//!
//! Rules: endpoints that share a socket are bound together, by one implementation, and each has a path of its own;
//! two that claim the root of one socket, or do not agree on what a socket has once, are a mistake of the wiring. Ready is said after every socket listens.

mod ask;
mod claims;
mod exposed;
mod plan;

pub use ask::{Asked, ask};
pub use claims::check_sockets;
pub use exposed::Exposed;
pub use plan::{ExposurePlan, use_as_peers};
