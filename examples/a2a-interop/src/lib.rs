//! The agent that interop kits of A2A ask for: it does what the instruction in a message says, which may be to call
//! other agents with instructions of their own. Linking this crate registers the pattern and the tool `interop`.
//!
//! ```text
//! message ─ pattern::Interop ── finds and reads the Instruction ──▶ tool::Interop ── runs it ──▶ status message
//!                                                                      └─ mas_a2a::client ──▶ the next agent
//! ```

mod heard;
mod instruction;
mod pattern;
mod tool;

pub use instruction::{
    CallAgent, CallKind, Instruction, Order, PushNotification, ResponseGenerator, Resubscribe,
    ReturnResponse, SendMessage, Steps, carried, part_of,
};
