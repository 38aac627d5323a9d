//! A stand-in for a managed platform: it resolves runtime access for agent sessions, and its runtime answers messages
//! as scripts say. For tests, and for `mas-ctl dev platform`.
//!
//! ```text
//!   platform  /api/v1/agent-sessions/…, /api/v1/agents/…      scripts: Access
//!   runtime   {rpc_url}/api/a2a/v1/message:send, tasks/…      scripts: Turn, states of tasks
//!   control   /_control/script, calls, clock                  on the platform's address
//! ```
//!
//! [`StandIn`] is what it does, without a socket: it is asked and answers. [`Server`] is the same on two addresses of
//! the loopback, so that an address derived from the platform's is the wrong one.

mod answer;
mod control;
mod platform;
mod record;
mod runtime;
mod script;
mod server;
mod state;

pub use answer::{Answer, Asked, Manner};
pub use record::Call;
pub use script::{Access, AgentSeed, Script, SessionSeed, Step, Turn, World};
pub use server::Server;
pub use state::{Half, StandIn};

/// The extension that a request names which says what kind of response it wants.
pub const RESPONSE_KIND: &str = "https://mainsequence.ai/a2a/extensions/response-kind/v1";
/// The key of the metadata that says what output is wanted.
pub const OUTPUT_CONTRACT: &str = "https://mainsequence.ai/a2a/extensions/output-contract/v1";
/// Whose errors those of the platform are.
pub const DOMAIN: &str = "mainsequence.ai";
