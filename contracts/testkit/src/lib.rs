//! Conformance kits for the contracts of mas, with scripted hosts and peers.
//!
//! [`CallContextBuilder`] makes call contexts on a clock that a test can pause, [`RecordingSink`] keeps the
//! events, [`ScriptedModel`] and [`FnModel`] stand in for a provider, [`ScriptedHost`] for the agents of a process.
//! The feature `http` adds a server that writes the bytes a test gives it, the feature `log` a `Log` of what is
//! logged meanwhile.
//! [`comm_conformance!`] checks a backend against the rules of `agent_comm`, [`model_conformance!`] a provider against
//! those of `llm_provider`.

#[macro_use]
mod rules;

mod clock;
pub mod comm;
mod context;
mod endpoint;
mod host;
#[cfg(feature = "http")]
pub mod http;
pub mod llm;
#[cfg(feature = "log")]
mod log;
mod model;
mod sink;

pub use clock::{SeqIds, TokioClock};
pub use context::{CallContextBuilder, build_context, call_context};
pub use host::{Behaviour, ScriptedHost, Seen};
#[cfg(feature = "log")]
pub use log::Log;
pub use model::{Asked, FnModel, OwnedRequest, ScriptedModel, asks_for, says};
pub use sink::{Recorded, RecordingSink};
