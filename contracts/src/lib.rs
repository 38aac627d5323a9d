//! What every part of mas agrees on: contracts (traits), messages, events, errors, the call context
//! and the descriptors by which an implementation is found.
//!
//! ```text
//!              DelegationContract        what the model sees: delegate_to_<agent>
//!                      │ plan / conclude
//!   PatternContract ─ core ─ AgentCommContract ─ peer (this process, A2A, a platform, …)
//!      next steps      │
//!                ModelContract, ToolContract, ContextManagerContract, StoreContract
//!                      │ events (side channel)
//!              ObservabilityContract, subscribers of an exposure (AgentExposeContract)
//!
//!   people ─ ControlContract ─ verbs of a live session ─ core
//! ```
//!
//! The reply of a call is its return value; what happens meanwhile travels as [`Event`]s. No runtime and
//! no I/O live here: a clock, an environment and ids are handed in.

mod agent_comm;
mod agent_expose;
mod build;
mod call;
mod cancel;
mod clock;
mod context_manager;
mod control;
mod delegation;
mod descriptor;
mod error;
mod event;
mod host;
mod message;
mod model;
mod observability;
mod pattern;
mod reply;
mod store;
mod task;
mod tool;

pub use agent_comm::{AgentCommContract, Capability, Outbound, Peer, Probe, TaskRef, Thread, ThreadName};
pub use agent_expose::{AgentExposeContract, Claim, Exposure, HostedEndpoint, Served, Serving, Term};
pub use build::{BuildContext, Env, Problem, Shared, check_params, parse_params, schema_of};
pub use call::{CallContext, CallId, Scope, Tree, TreeLimits};
pub use cancel::{Cancel, CancelReason, Stop};
pub use clock::{BoxFuture, Clock, Ids};
pub use context_manager::{ContextManagerContract, View};
pub use control::{
    Activity, Actor, CheckpointView, ContextPart, ContextView, ControlContract, ControlHost, ControlReply,
    Controlled, Controlling, Place, QueueView, QueuedAction, QueuedItem, SessionView, SteerMode, Verb,
    WaitingQuestion,
};
pub use delegation::{Conclusion, Delegation, DelegationContract, PeerCard, Surface};
pub use descriptor::{Build, Builder, Category, Descriptor, LoadedBuild};
pub use error::{Delivery, Error, ErrorKind, Result, Retry};
pub use event::{Audience, Event, EventKind, EventSink, NoEvents};
pub use host::{
    AgentHost, AgentProfile, EventStream, ProviderProfile, SequencedEvent, SkillProfile, TurnKey,
    TurnRequest, TurnTicket,
};
pub use message::{
    Arguments, Artifact, Content, Message, Part, PartMeta, ToolCall, ToolOutput, Usage, text_of,
};
pub use model::{CONTEXT_LENGTH, ChatRequest, Completion, FinishReason, ModelContract};
pub use observability::ObservabilityContract;
pub use pattern::{ModelOp, Op, OpDone, OpId, Outcome, PatternContract, Run, Step, TurnInput};
pub use reply::{End, Form, Interruption, InterruptionKind, Reply, TaskState};
pub use store::{Idempotency, Intent, Record, SessionKey, StoreContract, TurnStatus};
pub use task::{
    Speaker, Task, TaskCursor, TaskMessage, TaskPage, TaskQuery, TaskScope, TaskStatus, TaskStore,
};
pub use tool::{CANCEL_GRACE, ToolContract, ToolSpec};

pub use inventory;
