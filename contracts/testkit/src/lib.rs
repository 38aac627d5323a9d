//! Conformance kits for the contracts of mas, with scripted hosts and peers.
//!
//! [`CallContextBuilder`] makes call contexts on a clock that a test can pause, [`RecordingSink`] keeps the
//! events, [`ScriptedModel`] and [`FnModel`] stand in for a provider.

mod clock;
mod context;
mod host;
mod model;
mod sink;

pub use clock::{SeqIds, TokioClock};
pub use context::{CallContextBuilder, call_context};
pub use host::{Behaviour, ScriptedHost, Seen};
pub use model::{Asked, FnModel, ScriptedModel, asks_for, says};
pub use sink::{Recorded, RecordingSink};
